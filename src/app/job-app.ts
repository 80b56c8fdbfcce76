import type { JobApp } from '../api/jobs.ts'
import { checkLimit } from '../api/views/page.ts'
import { rankOf } from '../domain/access/authorize.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import type { Job } from '../domain/jobs/job.ts'
import { checkEventName, checkTimetable, nextTimes } from '../domain/jobs/schedule.ts'
import { clampRunOptions } from '../domain/run-options.ts'
import { addJob, deleteJob, editJob, editOf, enableJob, type JobDraft, noJob } from '../engine/jobs/change-job.ts'
import { areJobsHeld, type FireResult, fireJob } from '../engine/jobs/fire.ts'
import { viewFire, viewJob, viewMessage, viewSchedule } from '../engine/jobs/job-views.ts'
import { viewJobWeek } from '../engine/jobs/job-week.ts'
import { readActiveHours, readNewJob, readSchedule, readSettings } from '../engine/jobs/read-settings.ts'
import { assertAgentUsable } from '../engine/run/check-input.ts'
import { senderLabel } from '../engine/run/sender.ts'
import { listFires } from '../store/rows/jobs/fires.ts'
import { findJob, listJobs } from '../store/rows/jobs/jobs.ts'
import { listMessages, requeueMessage } from '../store/rows/jobs/outbox.ts'
import { clearMeta } from '../store/rows/meta.ts'
import type { AppAgents } from './agents.ts'
import { readEntries, withEntries } from './engine/registered-agents.ts'
import type { AppEngine } from './engine.ts'
import type { Caller } from './guard/caller.ts'
import type { JobSenders } from './senders.ts'

const shownTimes = 5
const defaultLines = 50

/** Context of jobs besides the engine. */
interface JobAppContext {
  agents: AppAgents
  senders: JobSenders
  /** Time zone of jobs that name none. */
  timezone(): string
  recordFolder(folder: string): void
  caller: Caller
}

export function jobApp(engine: AppEngine, context: JobAppContext): JobApp {
  const { store, clock } = engine
  const { caller, recordFolder } = context
  const spoken = () => ({ now: clock.now(), timezone: context.timezone() })
  const author = async () => ({
    principal: caller.text,
    label: await store.read((rows) => senderLabel(rows, caller.principal)),
  })
  return {
    jobs: async () => (await store.read((rows) => listJobs(rows, caller.only('job.list')))).map(viewJob),
    jobWeek: () => store.read((rows) => viewJobWeek(rows, caller.only('job.list'), clock.now())),
    async previewJob(times) {
      const schedule = readSchedule(times, spoken())
      if (!schedule) throw new UsageError('no schedule given', 'use one of at, every, cron and on', 'missing_option')
      const activeHours = readActiveHours(times, spoken())
      const now = clock.now()
      const timetable = checkTimetable({ schedule, startsAt: now, ...(activeHours && { activeHours }) }, now)
      const next = nextTimes(timetable, now, shownTimes)
      return { ...viewSchedule(schedule), times: next.map((time) => new Date(time).toISOString()) }
    },
    async addJob(folder, settings) {
      const draft = await checkDraft(engine, context, { ...readNewJob(settings, spoken()), folder })
      recordFolder(folder)
      const by = await author()
      return viewJob(await store.write('job', (tx) => addJob(tx, draft, by, clock.now())))
    },
    async editJob(id, settings) {
      const before = await existing(engine, id)
      const change = editOf(before, settings, readSettings(settings, spoken()))
      const checked = await checkDraft(engine, context, { ...change, folder: before.folder })
      const by = await author()
      return viewJob(
        await store.write('job', (tx) => editJob(tx, id, { change: checked, author: by, now: clock.now() })),
      )
    },
    async enableJob(id, isEnabled) {
      await existing(engine, id)
      return viewJob(await store.write('job', (tx) => enableJob(tx, id, isEnabled, clock.now())))
    },
    async removeJob(id) {
      await existing(engine, id)
      await store.write('job', (tx) => deleteJob(tx, id, clock.now()))
    },
    async runJob(id) {
      await assertNotHeld(engine)
      const fired = await fireJob(engine, await existing(engine, id), { kind: 'manual' })
      if (!fired) throw noJob(id)
      return firedView(id, fired, clock.now())
    },
    fires: async ({ job, limit = defaultLines } = {}) => {
      const of = job === undefined ? {} : { jobId: checkNumber(job, noJob) }
      const filter = { limit: checkLimit(limit), ...of, ...caller.only('job.list') }
      const found = await store.read((rows) => listFires(rows, filter))
      // The history of a job stays when it is removed.
      if (job !== undefined && found.length === 0) await existing(engine, job)
      return found.map(viewFire)
    },
    async emitEvent(name, data) {
      await assertNotHeld(engine)
      const event = checkEventName(name)
      const { label } = await author()
      const waiting = await store.read((rows) => listJobs(rows, { event, ...caller.only('job.emit') }))
      const fired = await Promise.all(
        waiting.map(async (job) => ({ job, fire: await fireJob(engine, job, { kind: 'event', name, data, label }) })),
      )
      return fired.flatMap(({ job, fire }) => (fire ? [firedView(job.id, fire, clock.now())] : []))
    },
    async resumeJobs() {
      await store.write('job', async (tx) => {
        await clearMeta(tx, 'jobs_held')
        tx.hint('due')
      })
      return { jobs: (await store.read((rows) => listJobs(rows, { nextOnly: true }))).length }
    },
    outbox: async ({ state, limit = defaultLines } = {}) => {
      const filter = { limit: checkLimit(limit), ...(state && { state }), ...caller.only('job.list') }
      return (await store.read((rows) => listMessages(rows, filter))).map(viewMessage)
    },
    async retryMessage(id) {
      const message = checkNumber(id, noMessage)
      const isQueued = await store.write('send', (tx) => requeueMessage(tx, message, clock.now()))
      if (!isQueued) throw noMessage(id)
    },
  }
}

export function noMessage(id: number): HeddleError {
  return new HeddleError(
    'not_found',
    `there is no undelivered message ${id}`,
    'list them with: heddle cron outbox --dead',
  )
}

async function existing({ store }: AppEngine, id: number): Promise<Job> {
  const job = await store.read((rows) => findJob(rows, checkNumber(id, noJob)))
  if (!job) throw noJob(id)
  return job
}

/** Refuses what is the number of nothing. */
function checkNumber(id: number, missing: (id: number) => HeddleError): number {
  if (Number.isSafeInteger(id) && id > 0) return id
  throw missing(id)
}

/** Checks what the engine can know now: agent, model, and that the caller may deliver there. */
async function checkDraft<T extends Partial<JobDraft> & { folder: string }>(
  engine: AppEngine,
  { agents, senders, caller }: JobAppContext,
  draft: T,
): Promise<T> {
  const { agent, model } = draft.options ?? {}
  if (agent !== undefined)
    assertAgentUsable(agent, withEntries(agents.askable(draft.folder), await readEntries(engine)))
  if (model !== undefined) engine.model(model)
  const rank = rankOf(caller.principal)
  const asked = draft.options ?? {}
  const options = { ...asked, ...clampRunOptions(asked, rank, engine.limits.timeoutMs) }
  const deliver = []
  for (const target of draft.deliver ?? []) {
    if (target.kind !== 'session' && rank !== 'owner' && rank !== 'admin')
      throw new HeddleError('forbidden', `${caller.text} may deliver to sessions only`, 'use session:LABEL')
    deliver.push(await senders.check(target, draft.folder))
  }
  return { ...draft, ...(draft.options && { options }), ...(draft.deliver && { deliver }) }
}

async function assertNotHeld({ store }: AppEngine): Promise<void> {
  if (await store.read(areJobsHeld))
    throw new HeddleError(
      'jobs_held',
      'jobs are paused, because this home was restored from a backup',
      'check them (heddle cron list), then: heddle cron resume',
    )
}

function firedView(jobId: number, { scheduledAt, outcome, reason, runId }: FireResult, at: number) {
  return viewFire({ jobId, scheduledAt, at, outcome, reason: reason ?? null, rootRunId: runId ?? null, status: null })
}
