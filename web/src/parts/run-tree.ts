import type { RunLine } from '../api/wire.ts'

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

/** What a run was asked, without the brief that follows the title of a task. */
export function wordsOf({ asked, tellsOf }: Pick<RunLine, 'asked' | 'tellsOf'>): string {
  if (tellsOf !== undefined) return `summary of ${tellsOf}`
  return asked.split(' ## ')[0] ?? asked
}

export function isOver({ finishedAt }: Pick<RunLine, 'finishedAt'>): boolean {
  return finishedAt !== null
}
