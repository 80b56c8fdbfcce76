import type { Millis } from '../../domain/clock.ts'
import type { Fire, Job } from '../../domain/jobs/job.ts'
import type { Label } from '../../domain/label.ts'
import { type Outcome, outcomeWord } from '../../domain/run.ts'
import { isUnanswered } from '../../store/rows/inbox.ts'
import { endFire, openFiresOf, openFiresWithoutRun, setFireRequest } from '../../store/rows/jobs/fires.ts'
import { lockJob, removeJob, updateJob } from '../../store/rows/jobs/jobs.ts'
import { insertMessage } from '../../store/rows/jobs/outbox.ts'
import { plansOfRequest } from '../../store/rows/plans.ts'
import { hasUnfinished, turnsOfRequest } from '../../store/rows/requests.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findTurn } from '../../store/rows/threads.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { oneLine } from '../run/delimit.ts'
import type { RunEnd } from '../run/moments.ts'
import type { DueSource } from '../run/worker/due.ts'
import type { Engine } from '../runtime.ts'
import { tallyFire } from './tally.ts'

/**
 * Ends the fires whose request this run's end completes, in the settling transaction: a child that wakes no run may be the
 * last of it. A run without an input of a job that knows of no open fire reads no row here.
 */
export async function closeFires({ tx, engine, run, ending, items, now, hasOpenFire }: RunEnd<Engine>): Promise<void> {
  const inputs = items.filter(({ source }) => source === 'cron' || source === 'event').map(({ id }) => id)
  if (inputs.length === 0 && hasOpenFire === false) return
  await setFireRequest(tx, inputs, run.rootRunId)
  const open = await openFiresOf(tx, run.rootRunId)
  if (open.length === 0) return
  const isStopped = ending.state === 'cancelled' && run.parentRunId === null
  if (!isStopped && !(await isAtRest(tx, run.rootRunId))) return
  for (const fire of open) await closeFire(tx, engine, fire, now)
}

/**
 * Open fires whose request is at rest: of two last runs that end at once in two processes, neither sees the end of the
 * other, and so neither closes the fire.
 */
export function restingFires(engine: Engine): DueSource {
  const { store } = engine
  return {
    async next(rows, now) {
      for (const fire of await openFiresWithoutRun(rows)) if (await isOver(rows, fire)) return now
      return undefined
    },
    async handle(now) {
      for (const fire of await store.read((rows) => openFiresWithoutRun(rows)))
        await store.write('fire', async (tx) => {
          if (await isOver(tx, fire)) await closeFire(tx, engine, fire, now)
        })
    },
  }
}

async function isOver(rows: Reading, { rootRunId }: Fire): Promise<boolean> {
  return rootRunId !== null && isAtRest(rows, rootRunId)
}

/**
 * Whether nothing of a request is left to do: no run, no plan, no input that starts a run. A join needs no look: it is open
 * only while one of its runs is not over.
 */
export async function isAtRest(rows: Reading, rootRunId: string): Promise<boolean> {
  if ((await hasUnfinished(rows, rootRunId)) || (await isUnanswered(rows, rootRunId))) return false
  return !(await plansOfRequest(rows, rootRunId)).some(({ status }) => status === 'running')
}

/** Ends a fire whose request is at rest: counts its outcome and writes what is to be delivered, once. */
export async function closeFire(tx: Tx, engine: Engine, fire: Fire, now: Millis): Promise<void> {
  const end = await endOf(tx, engine, fire)
  const job = await lockJob(tx, fire.jobId)
  if (!(await endFire(tx, fire, end, now)) || !job) return
  const tally = tallyFire(job, end.status, now)
  if (tally.isRemoved) await removeJob(tx, tally.job, now)
  else await updateJob(tx, tally.job)
  const common = { principal: job.principal, folder: job.folder, jobId: job.id, runId: fire.rootRunId, createdAt: now }
  const title = `[Cron: ${oneLine(job.name)}] ${statusLine(end)}`
  for (const [index, target] of job.deliver.entries())
    await insertMessage(tx, {
      ...common,
      ...target,
      title,
      content: end.text,
      label: end.label,
      key: `fire:${fire.jobId}:${fire.scheduledAt}:${index}`,
    })
  if (tally.notice !== undefined) await insertMessage(tx, { ...common, ...noticeFor(job, tally.notice, fire) })
}

/** A notice in the main session of the folder. Its words are the runtime's own. */
export function noticeFor(job: Job, notice: string, { scheduledAt }: Pick<Fire, 'scheduledAt'>) {
  const label: Label = { integrity: 'trusted', sources: [] }
  const key = `notice:${job.id}:${scheduledAt}`
  return { kind: 'session' as const, to: 'main', title: oneLine(notice), content: '', label, key }
}

interface FireEnd {
  status: Outcome
  text: string
  label: Label
  error?: string
}

async function endOf(tx: Tx, engine: Engine, { rootRunId }: Fire): Promise<FireEnd> {
  const root = rootRunId === null ? undefined : await findRun(tx, rootRunId)
  const turnId = root && (await turnsOfRequest(tx, root)).at(-1)
  const answer = turnId === undefined ? undefined : await findTurn(tx, turnId)
  if (!root || !answer)
    return { status: 'failed', text: '', label: { integrity: 'trusted', sources: [] }, error: 'it has no answer' }
  const { turn } = answer
  const outcome = turn.status === 'completed' ? await engine.moments.outcomeOf(tx, root.id) : {}
  const last = turn.runId === root.id ? root : await findRun(tx, turn.runId)
  const error = outcome.error ?? last?.error
  return {
    status: outcome.status ?? turn.status,
    text: turn.responseMessage.content,
    label: turn.label,
    ...(error && { error: error.message }),
  }
}

function statusLine({ status, error }: FireEnd): string {
  return status === 'completed' ? 'Complete.' : `${outcomeWord[status]}: ${oneLine(error ?? 'the reason is unknown')}`
}
