import type { ThreadDiff, TurnLine } from '../../api/views/turn.ts'
import type { PlacedTurn, Thread } from '../../domain/turn.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { findTurn, readAllTurns, readPath, readThreads, readTips, turnOnPath } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'

const previewLength = 120

/** The path to a thread, oldest first; at most the last `limit` turns. */
export async function listPath(
  rows: Reading,
  end: Thread,
  { limit = end.depth, ...filter }: OwnedBy & { limit?: number } = {},
): Promise<TurnLine[]> {
  return turnLines(rows, await readPath(rows, end, Math.max(1, end.depth - limit + 1)), filter)
}

/** Every turn that is stored, or that a principal's sessions wrote, oldest first. */
export async function listTree(rows: Reading, filter: OwnedBy = {}): Promise<TurnLine[]> {
  const found: PlacedTurn[] = []
  for await (const page of readAllTurns(rows, filter)) found.push(...page)
  const byTime = (a: PlacedTurn, b: PlacedTurn) =>
    a.turn.timestamp - b.turn.timestamp || (a.turn.id < b.turn.id ? -1 : 1)
  return turnLines(rows, found.sort(byTime), filter)
}

/** Turns without children, oldest first. */
export async function listTips(rows: Reading, filter: OwnedBy = {}): Promise<TurnLine[]> {
  const tips = await Promise.all((await readTips(rows, filter)).map(({ turnId }) => findTurn(rows, turnId)))
  return turnLines(
    rows,
    tips.filter((tip) => tip !== undefined),
    filter,
  )
}

/** First depth of a path that is sent to a model: 1, or the depth after what the nearest compaction replaces. */
export async function contextDepth(rows: Reading, end: Thread): Promise<number> {
  if (end.contextStart === 0) return 1
  const compaction = await turnOnPath(rows, end, end.contextStart)
  return (compaction?.turn.compaction?.toDepth ?? 0) + 1
}

/** Turns sent to a model: the nearest compaction, the turns it keeps verbatim, and all later ones. */
export async function contextPath(rows: Reading, end: Thread): Promise<PlacedTurn[]> {
  if (end.contextStart === 0) return readPath(rows, end)
  const path = await readPath(rows, end, await contextDepth(rows, end))
  const compaction = path.filter(({ thread }) => thread.depth === end.contextStart)
  return [...compaction, ...path.filter(({ thread }) => thread.depth !== end.contextStart)]
}

/** Turns that only one of two paths has, oldest first, and their last common ancestor. */
export async function diffPaths(rows: Reading, a: Thread, b: Thread): Promise<Omit<ThreadDiff, 'work'>> {
  const [left, right] = await Promise.all([readThreads(rows, a), readThreads(rows, b)])
  let shared = 0
  while (shared < left.length && left[shared]?.turnId === right[shared]?.turnId) shared++
  return {
    ancestor: left[shared - 1]?.turnId ?? null,
    a: left.slice(shared).map(({ turnId }) => turnId),
    b: right.slice(shared).map(({ turnId }) => turnId),
  }
}

/** Turns as lines of a list, in the order given, with those of their sessions that the reader may know of. */
export async function turnLines(rows: Reading, turns: PlacedTurn[], filter: OwnedBy): Promise<TurnLine[]> {
  const heads = Map.groupBy(await findSessions(rows, filter), (session) => session.headTurnId)
  return turns.map(({ turn, thread }) => {
    const sessions = heads.get(turn.id)?.map(({ label }) => label) ?? []
    return {
      id: turn.id,
      parentId: turn.parentTurnId,
      depth: thread.depth,
      type: turn.type,
      status: turn.status,
      model: turn.model.actual,
      tokens: turn.tokenCount,
      timestamp: new Date(turn.timestamp).toISOString(),
      preview: preview(
        turn.type === 'compaction' ? turn.responseMessage.content : (turn.queryMessages[0]?.content ?? ''),
      ),
      ...(sessions.length > 0 && { session: sessions.join(', ') }),
      hasChildren: thread.hasChildren,
      requestId: turn.runId,
    }
  })
}

/** The beginning of a text, in one line. */
export function preview(text: string, maxLength = previewLength): string {
  const line = text
    .slice(0, maxLength * 4)
    .replace(/\s+/gu, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).toWellFormed()}…` : line
}
