import type { Approval } from '../../domain/approval.ts'
import type { Millis } from '../../domain/clock.ts'
import { retryReason } from '../../domain/failure-words.ts'
import type { Run } from '../../domain/run.ts'
import { mainArgument } from '../../domain/text/main-argument.ts'
import { approvalsOf, openApprovals } from '../../store/rows/approvals.ts'
import { type BudgetQuestion, isSameBudget } from '../../store/rows/budget-questions.ts'
import { pausesOf } from '../../store/rows/provenance.ts'
import type { Reading } from '../../store/store.ts'
import type { Journal } from './context/journal.ts'

/** Describes for users the activity of an unfinished run, or the reason it waits. */
export async function doingOf(rows: Reading, run: Run, journal: Journal, now: Millis): Promise<string> {
  if (run.state === 'queued') return 'queued'
  if (run.state === 'waiting') return `waiting for ${await waitWords(rows, run, now)}`
  const open = journal.openCalls.map(({ name }) => name)
  return open.length === 0 ? 'thinking' : open.join(', ')
}

async function waitWords(rows: Reading, run: Run, now: Millis): Promise<string> {
  if (run.waitingFor === 'retry') return retryWords(rows, run, now)
  if (run.waitingFor === 'budget') return budgetWords(rows, run)
  if (run.waitingFor !== 'approval') return run.waitingFor ?? 'unknown'
  const open = (await approvalsOf(rows, run.id)).filter(isOpen)
  const [first, ...others] = open
  if (!first) return 'approval'
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return `${commandFor(first)}, ${`${first.tool} ${mainArgument(first.input)}`.trim()}${more}`
}

/** A run also retries when other runs of its request have reserved the rest of a budget. */
async function retryWords(rows: Reading, { id, wakeAt }: Run, now: Millis): Promise<string> {
  const pause = (await pausesOf(rows, id)).findLast(({ kind }) => kind === 'run.waiting')
  const error = pause?.payload['for'] === 'retry' ? pause.payload['error'] : undefined
  const when = wakeAt === null ? '' : ` in ${Math.max(0, Math.ceil((wakeAt - now) / 1000))}s`
  if (error === 'budget_in_use') return `budget reserved by other runs, retry${when}`
  return `model retry${when}${error === undefined ? '' : `, ${retryReason(String(error))}`}`
}

/** Runs that need the same budget share one open question, which may be another run's. */
async function budgetWords(rows: Reading, { id, wakeAt }: Run): Promise<string> {
  const own = (await approvalsOf(rows, id)).filter(isOpen).at(-1)
  const asked = (await openApprovals(rows)).find(
    ({ tool, input }) => tool === own?.tool && isSameBudget(input as BudgetQuestion, own.input as BudgetQuestion),
  )
  if (asked) return `${commandFor(asked)}, budget used up`
  return wakeAt === null
    ? 'a larger budget'
    : `the budget of the next day, from ${new Date(wakeAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function isOpen({ answeredAt }: Approval): boolean {
  return answeredAt === null
}

function commandFor({ id }: Approval): string {
  return `approval:${id} (heddle approve ${id})`
}
