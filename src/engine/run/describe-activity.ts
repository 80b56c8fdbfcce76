import type { Millis } from '../../domain/clock.ts'
import type { Run } from '../../domain/run.ts'
import { retryReason } from '../../domain/text/failure-words.ts'
import { mainArgument } from '../../domain/text/main-argument.ts'
import { openApprovals } from '../../store/rows/approvals.ts'
import { type BudgetQuestion, isSameBudget } from '../../store/rows/budget-questions.ts'
import { callStepsOf, lastWaits, type OpenApproval, openApprovalsOf } from '../../store/rows/run-lists.ts'
import type { Reading } from '../../store/store.ts'
import { Journal } from './context/journal.ts'

/** Describes for users what each of these unfinished runs does, or why it waits. The number of statements is constant. */
export async function describeActivity(
  rows: Reading,
  runs: readonly Run[],
  now: Millis,
): Promise<ReadonlyMap<string, string>> {
  const ids = (keep: (run: Run) => boolean) => runs.filter(keep).map(({ id }) => id)
  const waitFor = (...waits: Run['waitingFor'][]) =>
    ids((run) => run.state === 'waiting' && waits.includes(run.waitingFor))
  const steps = await callStepsOf(
    rows,
    ids(({ state }) => state === 'running'),
  )
  const calls = Map.groupBy(steps, ({ runId }) => runId)
  const asked = Map.groupBy(await openApprovalsOf(rows, waitFor('approval', 'budget')), ({ runId }) => runId)
  const pauses = await lastWaits(rows, waitFor('retry'))
  const budgets = waitFor('budget').length === 0 ? [] : await openApprovals(rows)
  return new Map(runs.map((run) => [run.id, activityOf(run)]))

  function activityOf(run: Run): string {
    if (run.state === 'queued') return 'queued'
    if (run.state === 'waiting') return `waiting for ${waitWords(run)}`
    const open = new Journal(run.id, calls.get(run.id) ?? []).openCalls.map(({ name }) => name)
    return open.length === 0 ? 'thinking' : open.join(', ')
  }

  function waitWords(run: Run): string {
    const own = asked.get(run.id) ?? []
    if (run.waitingFor === 'retry') return retryWords(run, pauses.get(run.id), now)
    if (run.waitingFor === 'budget') return budgetWords(run, own.at(-1), budgets)
    if (run.waitingFor !== 'approval') return run.waitingFor ?? 'unknown'
    return approvalWords(own)
  }
}

function approvalWords([first, ...others]: OpenApproval[]): string {
  if (!first) return 'approval'
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return `${commandFor(first)}, ${`${first.tool} ${mainArgument(first.input)}`.trim()}${more}`
}

/** A run also retries when other runs of its request have reserved the rest of a budget. */
function retryWords({ wakeAt }: Run, pause: Record<string, unknown> | undefined, now: Millis): string {
  const error = pause?.['for'] === 'retry' ? pause['error'] : undefined
  const when = wakeAt === null ? '' : ` in ${Math.max(0, Math.ceil((wakeAt - now) / 1000))}s`
  if (error === 'budget_in_use') return `budget reserved by other runs, retry${when}`
  return `model retry${when}${error === undefined ? '' : `, ${retryReason(String(error))}`}`
}

/** Runs that need the same budget share one open question, which may be another run's. */
function budgetWords({ wakeAt }: Run, own: OpenApproval | undefined, questions: readonly OpenApproval[]): string {
  const asked = questions.find(
    ({ tool, input }) => tool === own?.tool && isSameBudget(input as BudgetQuestion, own.input as BudgetQuestion),
  )
  if (asked) return `${commandFor(asked)}, budget used up`
  return wakeAt === null
    ? 'a larger budget'
    : `the budget of the next day, from ${new Date(wakeAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function commandFor({ id }: OpenApproval): string {
  return `approval:${id} (heddle approve ${id})`
}
