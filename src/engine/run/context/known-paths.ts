import type { Thread } from '../../../domain/turn.ts'
import type { TurnMessages } from '../../../store/rows/threads.ts'
import { hasCalls, type TurnContent } from '../../../store/rows/turns.ts'
import { bytesOfMessage } from '../../model/weight.ts'
import { type PathTurn, pathTurn } from './path-turn.ts'

/** Max cached paths, and their max total size in UTF-8; they take about twice that in memory. */
const maxPaths = 64
const maxBytes = 16 * 1024 * 1024

/** The part of a conversation that a model sees, up to a depth. */
export interface KnownPath {
  contextStart: number
  depth: number
  path: readonly PathTurn[]
  /** Size of its messages. */
  bytes: number
}

/**
 * Cache of conversations by segment, so that the next turn reads only what is new. Must be filled with committed turns
 * only; these never change, but for removed transcripts.
 */
export class KnownPaths {
  readonly #bySegment = new Map<string, KnownPath>()
  #bytes = 0

  /** The cached path of this head: all of it, or its beginning. */
  upTo({
    segmentId,
    depth,
    contextStart,
  }: Pick<Thread, 'segmentId' | 'depth' | 'contextStart'>): KnownPath | undefined {
    const cached = this.#bySegment.get(segmentId)
    return cached && cached.contextStart === contextStart && cached.depth <= depth ? cached : undefined
  }

  /** Appends newly read turns to the cached path, and returns the whole path. */
  keep(
    { segmentId, depth, contextStart }: Thread,
    before: KnownPath | undefined,
    since: PathTurn[],
  ): readonly PathTurn[] {
    if (before && since.length === 0) return before.path
    const path = before ? [...before.path, ...since] : since
    const bytes = since.reduce((sum, turn) => sum + bytesOfTurn(turn), before?.bytes ?? 0)
    this.drop(segmentId)
    this.#bySegment.set(segmentId, { contextStart, depth, path, bytes })
    this.#bytes += bytes
    for (const oldest of this.#bySegment.keys()) {
      if (this.#bySegment.size <= maxPaths && this.#bytes <= maxBytes) break
      this.drop(oldest)
    }
    return path
  }

  /** Appends a turn that was just committed to the path before it; nothing if that is not cached. */
  extend(thread: Thread, turn: TurnContent): void {
    const { segmentId, depth, contextStart } = thread
    const before = this.upTo({ segmentId, depth: depth - 1, contextStart })
    // Steps of calls are left to the next read: as the database returns them, not as the run has them.
    if ((before?.depth ?? 0) === depth - 1 && !hasCalls(turn))
      this.keep(thread, before, [pathTurn(messagesOf(turn, depth))])
  }

  /** Forgets a segment. */
  drop(segmentId: string): void {
    this.#bytes -= this.#bySegment.get(segmentId)?.bytes ?? 0
    this.#bySegment.delete(segmentId)
  }
}

/** A turn's messages as a later read returns them. */
function messagesOf(turn: TurnContent, depth: number): TurnMessages {
  const { type, status, queryMessages, responseMessage, label, runId, promptHash } = turn
  const stored = { type, status, queryMessages, responseMessage, label, runId, promptHash, depth, hasCalls: false }
  return JSON.parse(JSON.stringify(stored))
}

function bytesOfTurn({ messages }: PathTurn): number {
  return messages.reduce((sum, message) => sum + bytesOfMessage(message), 0)
}
