import type { RunLine } from '../api/wire.ts'
import { previewOf } from '../text/preview.ts'

/** A request: its first run and all that follow from it, each below the run that started it. */
export interface RequestTree {
  root: string
  rows: { run: RunLine; depth: number }[]
}

/** Groups runs by request, the newest request first. Runs that continue a request stand beside its first run. */
export function treesOf(runs: readonly RunLine[]): RequestTree[] {
  const byRoot = Map.groupBy(runs, ({ rootRunId }) => rootRunId)
  return [...byRoot]
    .map(([root, all]) => ({ root, rows: rowsOf(all.toSorted((a, b) => (a.id < b.id ? -1 : 1))) }))
    .toSorted((a, b) => (a.root < b.root ? 1 : -1))
}

function rowsOf(runs: RunLine[]): RequestTree['rows'] {
  const known = new Set(runs.map(({ id }) => id))
  const children = Map.groupBy(runs, ({ parentRunId }) =>
    parentRunId !== null && known.has(parentRunId) ? parentRunId : '',
  )
  const below = (parent: string, depth: number): RequestTree['rows'] =>
    (children.get(parent) ?? []).flatMap((run) => [{ run, depth }, ...below(run.id, depth + 1)])
  return below('', 0)
}

/** What a run was asked, without the brief that follows the title of a task; of one that goes on, who reported. */
export function wordsOf({ asked, tellsOf }: { asked: string; tellsOf?: string }): string {
  if (tellsOf !== undefined) return `summary of ${tellsOf}`
  if (asked.startsWith('[agent_result:')) return previewOf(asked)
  return asked.split(' ## ')[0] ?? asked
}

/** Whether a person asked for it in these words: the first run of a request. */
export function isAskedByPerson({ id, rootRunId, via }: Pick<RunLine, 'id' | 'rootRunId' | 'via'>): boolean {
  return id === rootRunId && (via === 'user' || via === 'retry')
}

/** How long it took, or has taken so far. */
export function secondsOf({ createdAt, finishedAt, ageSeconds }: RunTimes): number {
  return finishedAt === null ? ageSeconds : (Date.parse(finishedAt) - Date.parse(createdAt)) / 1000
}

type RunTimes = Pick<RunLine, 'createdAt' | 'finishedAt' | 'ageSeconds'>

export function isOver({ finishedAt }: Pick<RunLine, 'finishedAt'>): boolean {
  return finishedAt !== null
}

/** The approval that a run waits for, by its number. */
export function approvalIn({ doing, waitingFor }: Pick<RunLine, 'doing' | 'waitingFor'>): string | undefined {
  return waitingFor === undefined ? undefined : /\bapproval:(\d+)/.exec(doing)?.[1]
}
