import { checkLimit, cursorFrom, type ListPage, type PageOptions, positionOfCursor } from '../../api/views/page.ts'
import type { TreeTurn, TurnLine, WindowTurn } from '../../api/views/turn.ts'
import type { Step } from '../../domain/run.ts'
import type { PlacedTurn, Thread, ToolCall } from '../../domain/turn.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import {
  type BranchTurn,
  labelsAtHeads,
  newestOfTree,
  newestTurns,
  runFactsOfTurns,
} from '../../store/rows/lists/turns-in-order.ts'
import { toolCallsOf } from '../../store/rows/steps.ts'
import { readPath, readStepsOnPath } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { preview, turnLines } from './history.ts'
import { stoppedRequest } from './stopped-request.ts'

const defaultPath = 50
const defaultTree = 200
/** Longer inputs and outputs of calls are cut; `show` has them whole. */
const maxCallText = 2000

/** The last turns of a path with their words, oldest first; `next` leads to those before them. */
export async function pathWindow(
  rows: Reading,
  end: Thread,
  { limit = defaultPath, after, ...filter }: OwnedBy & PageOptions,
): Promise<ListPage<WindowTurn>> {
  const last = after === undefined ? end.depth : Math.min(end.depth, positionOfCursor(after)[0] - 1)
  const first = Math.max(1, last - checkLimit(limit) + 1)
  const path = (await readPath(rows, end, first)).filter(({ thread }) => thread.depth <= last)
  const steps = await readStepsOnPath(rows, end, first)
  const [sessions, runs] = await Promise.all([
    labelsAtHeads(rows, idsOf(path), filter),
    runFactsOfTurns(
      rows,
      path.map(({ turn }) => turn.runId),
    ),
  ])
  const stops = await stopsAfter(rows, path, runs)
  return {
    rows: path.map((placed) => {
      const stopped = stops.get(placed.turn.id)
      return {
        ...viewWindowTurn(placed, steps.get(placed.turn.runId) ?? []),
        agent: runs.get(placed.turn.runId)?.agent ?? null,
        sessions: sessions.get(placed.turn.id) ?? [],
        ...(stopped && { stopped }),
      }
    }),
    ...(first > 1 && { next: cursorFrom([first, 'path']) }),
  }
}

/** Requests that a user stopped while only their agents worked, by the last turn of each: no turn of its own says so. */
async function stopsAfter(
  rows: Reading,
  path: readonly PlacedTurn[],
  runs: Awaited<ReturnType<typeof runFactsOfTurns>>,
): Promise<Map<string, NonNullable<WindowTurn['stopped']>>> {
  const lastTurns = new Map(path.map(({ turn }) => [runs.get(turn.runId)?.rootRunId, turn]))
  const stops = new Map<string, NonNullable<WindowTurn['stopped']>>()
  for (const [id, turn] of lastTurns) {
    const cancelReason = runs.get(turn.runId)?.stopReason ?? null
    if (id === undefined || cancelReason === null || turn.status === 'cancelled') continue
    const stopped = await stoppedRequest(rows, { id, cancelReason })
    if (stopped)
      stops.set(turn.id, {
        reason: stopped.reason,
        unfinished: stopped.unfinished.map(({ id: runId, agent }) => ({ runId, agent })),
      })
  }
  return stops
}

/**
 * The newest turns of a folder, or of all, newest first, each with the session that wrote it; `of` leaves those of the tree that
 * it belongs to.
 */
export async function treeWindow(
  rows: Reading,
  { limit = defaultTree, after, of, ...filter }: OwnedBy & PageOptions & { folder?: string; of?: Thread },
): Promise<ListPage<TreeTurn>> {
  const page = { limit: checkLimit(limit) + 1, ...(after !== undefined && { after: positionOfCursor(after)[1] }) }
  const found = of ? await newestOfTree(rows, filter, { ...page, of }) : await newestTurns(rows, filter, page)
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  const lines = await turnLines(rows, shown, filter)
  return {
    rows: lines.map((line, at) => ({ ...line, ...branchFacts(shown[at] as BranchTurn) })),
    ...(last && { next: cursorFrom([0, last.turn.id]) }),
  }
}

function branchFacts({ turn, branch, agent }: BranchTurn): Omit<TreeTurn, keyof TurnLine> {
  const { costUsd, estimatedUsd = 0 } = turn.usage
  return { branch, agent, answer: preview(turn.responseMessage.content), costUsd: costUsd + estimatedUsd }
}

function viewWindowTurn(
  { turn, thread }: PlacedTurn,
  steps: Step[],
): Omit<WindowTurn, 'sessions' | 'agent' | 'stopped'> {
  return {
    id: turn.id,
    parentId: turn.parentTurnId,
    depth: thread.depth,
    type: turn.type,
    status: turn.status,
    query: turn.queryMessages,
    response: turn.responseMessage,
    toolCalls: toolCallsOf(turn.toolCalls, steps).map(cutCall),
    model: turn.model,
    tokenCount: turn.tokenCount,
    usage: turn.usage,
    compaction: turn.compaction,
    label: turn.label,
    runId: turn.runId,
    timestamp: new Date(turn.timestamp).toISOString(),
    hasChildren: thread.hasChildren,
  }
}

function cutCall(call: ToolCall): ToolCall {
  return { ...call, input: cutValue(call.input, maxCallText), output: cutValue(call.output, maxCallText) }
}

/** A value as it is, or the beginning of its text if it is long. */
export function cutValue(value: unknown, maxLength: number): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length <= maxLength ? value : `${text.slice(0, maxLength).toWellFormed()}…`
}

function idsOf(path: readonly PlacedTurn[]): string[] {
  return path.map(({ turn }) => turn.id)
}
