import type { OutboxMessage } from '../../src/domain/jobs/outbox.ts'
import { addJob, enableJob } from '../../src/engine/jobs/change-job.ts'
import { restingFires } from '../../src/engine/jobs/close-fire.ts'
import { timedJobs } from '../../src/engine/jobs/due-jobs.ts'
import { fireJob } from '../../src/engine/jobs/fire.ts'
import { timedMessages } from '../../src/engine/jobs/send.ts'
import type { DueSource } from '../../src/engine/run/worker/due.ts'
import type { Engine } from '../../src/engine/runtime.ts'
import { listJobs } from '../../src/store/rows/jobs/jobs.ts'
import type { Reading } from '../../src/store/store.ts'
import { folder } from './engine.ts'
import type { Chance, Life } from './simulator-schedule.ts'

/** A job of somebody in a simulated world. */
interface SimulatedJob {
  seconds: number
  content: string
  /** A session that goes on, or one of its own. */
  session: string | undefined
  deliverTo: 'webhook' | 'session'
}

/** What a process of a simulated world looks for besides runs. One message in four does not arrive. */
export function jobSources(
  engine: Engine,
  { life, chance, arrived, onError }: { life: Life; chance: Chance; arrived: number[]; onError(error: unknown): void },
): DueSource[] {
  const send = async ({ id }: OutboxMessage) => {
    await life.turn(`send ${id}`)
    const isLost = chance(4) === 0
    if (!isLost) arrived.push(id)
    await life.turn(`after send ${id}`)
    return isLost ? { error: 'it answered with status 500' } : undefined
  }
  const senders = { notify: send, file: send, webhook: send }
  return [timedJobs(engine), restingFires(engine), timedMessages(engine, { senders, onError })]
}

/** Somebody adds a job. */
export async function addSimulatedJob(people: Engine, { seconds, content, session, deliverTo }: SimulatedJob) {
  const now = people.clock.now()
  await people.store.write('job', (tx) =>
    addJob(
      tx,
      {
        ...{ name: content, content, folder, payload: 'agentTurn', maxFailures: 1000 },
        schedule: { kind: 'every', every: seconds * 1000 },
        ...(session !== undefined && { session: { kind: 'label', label: session } }),
        deliver: [{ kind: deliverTo, to: deliverTo === 'session' ? 's0' : 'ops' }],
      },
      { principal: 'owner', label: { integrity: 'trusted', sources: [] } },
      now,
    ),
  )
}

/** Somebody fires a job by hand. */
export async function fireSimulatedJob(people: Engine, pick: number): Promise<void> {
  const jobs = await people.store.read((rows) => listJobs(rows))
  const job = jobs[pick % jobs.length]
  if (job) await fireJob(people, job, { kind: 'manual' })
}

/** Nothing more begins by itself. */
export async function disableJobs({ store, clock }: Engine): Promise<void> {
  for (const { id } of await store.read((rows) => listJobs(rows)))
    await store.write('job', (tx) => enableJob(tx, id, false, clock.now()))
}

/** Whether a fire or a message is not over. */
export async function hasOpenFires(rows: Reading): Promise<boolean> {
  const fires = rows.build
    .selectFrom('cron_fires')
    .selectAll()
    .where('outcome', '=', 'fired')
    .where('status', 'is', null)
  const messages = rows.build.selectFrom('outbox').selectAll().where('next_at', 'is not', null)
  return (await rows.all(fires)).length + (await rows.all(messages)).length > 0
}
