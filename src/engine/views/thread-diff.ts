import type { BranchWork, ThreadDiff } from '../../api/views/turn.ts'
import type { Thread } from '../../domain/turn.ts'
import { runsOfTurns } from '../../store/rows/child-runs.ts'
import { changesOf } from '../../store/rows/file-changes.ts'
import { spendingOfRuns } from '../../store/rows/run-lists.ts'
import type { Reading } from '../../store/store.ts'
import { lastChanges } from '../files/artifacts.ts'
import { diffPaths } from '../turns/history.ts'

/** Where two threads part, and what came of the turns of each since then. */
export async function viewDiff(rows: Reading, a: Thread, b: Thread): Promise<ThreadDiff> {
  const parted = await diffPaths(rows, a, b)
  return { ...parted, work: { a: await branchWork(rows, parted.a), b: await branchWork(rows, parted.b) } }
}

/** What came of turns besides their answers: files that they or the agents below them wrote, and those agents' cost. */
async function branchWork(rows: Reading, turnIds: readonly string[]): Promise<BranchWork> {
  const runs = await runsOfTurns(rows, turnIds)
  const below = runs.filter(({ isOfTurn }) => !isOfTurn)
  const spent = await spendingOfRuns(
    rows,
    below.map(({ id }) => id),
  )
  const changes = await changesOf(
    rows,
    runs.map(({ id }) => id),
  )
  const byAgent = Map.groupBy(below, ({ agent }) => agent)
  const sum = (figures: number[]) => figures.reduce((total, figure) => total + figure, 0)
  return {
    files: lastChanges(changes).map(({ path, undoneAt }) => ({ path, undone: undoneAt !== null })),
    agents: [...byAgent].map(([agent, own]) => ({ agent, runs: own.length })),
    tokens: sum([...spent.values()].map(({ inputTokens, outputTokens }) => inputTokens + outputTokens)),
    costUsd: sum([...spent.values()].map(({ costUsd, estimatedUsd, lostUsd }) => costUsd + estimatedUsd + lostUsd)),
  }
}
