import type { Thread } from '../domain/turn.ts'
import type { PathTurn } from './path-turn.ts'
import { bytesOfMessage } from './weight.ts'

/** Talks that are held, and what all of them may weigh: about as many bytes of memory, twice. */
const mostTalks = 64
const mostBytes = 16 * 1024 * 1024

/** What a model is given of a talk, up to a depth. */
export interface KnownPath {
  contextStart: number
  depth: number
  path: readonly PathTurn[]
  /** What its messages weigh. */
  bytes: number
}

/**
 * What was read of talks, so that the next turn of one reads only what came since. A segment's turns are never changed:
 * whatever was read of it and is committed holds for every later head in it. Only what is committed may be kept.
 */
export class KnownPaths {
  readonly #bySegment = new Map<string, KnownPath>()
  #bytes = 0

  /** What is known of the path of this head: all of it, or its beginning. */
  upTo({ segmentId, depth, contextStart }: Thread): KnownPath | undefined {
    const known = this.#bySegment.get(segmentId)
    return known && known.contextStart === contextStart && known.depth <= depth ? known : undefined
  }

  /** Puts what was read since behind what was known, and answers all of it. */
  keep(
    { segmentId, depth, contextStart }: Thread,
    before: KnownPath | undefined,
    since: PathTurn[],
  ): readonly PathTurn[] {
    if (before && since.length === 0) return before.path
    const path = before ? [...before.path, ...since] : since
    const bytes = since.reduce((sum, turn) => sum + bytesOfTurn(turn), before?.bytes ?? 0)
    this.#drop(segmentId)
    this.#bySegment.set(segmentId, { contextStart, depth, path, bytes })
    this.#bytes += bytes
    for (const oldest of this.#bySegment.keys()) {
      if (this.#bySegment.size <= mostTalks && this.#bytes <= mostBytes) break
      this.#drop(oldest)
    }
    return path
  }

  #drop(segmentId: string): void {
    this.#bytes -= this.#bySegment.get(segmentId)?.bytes ?? 0
    this.#bySegment.delete(segmentId)
  }
}

function bytesOfTurn({ messages }: PathTurn): number {
  return messages.reduce((sum, message) => sum + bytesOfMessage(message), 0)
}
