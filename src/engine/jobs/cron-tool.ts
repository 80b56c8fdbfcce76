import { z } from 'zod'
import { HeddleError } from '../../domain/errors.ts'
import { type Job, type JobSession, jobCleanups, missedPolicies } from '../../domain/jobs/job.ts'
import { nextTimes } from '../../domain/jobs/schedule.ts'
import { thinkingLevels } from '../../domain/message.ts'
import type { Permissions } from '../../domain/persona.ts'
import type { Run } from '../../domain/run.ts'
import { mergeRunOptions } from '../../domain/run-options.ts'
import type { CallContext, Tool, ToolOutcome } from '../../domain/tools/tool.ts'
import { cronToolName } from '../../domain/tools/tool-names.ts'
import { listFires } from '../../store/rows/jobs/fires.ts'
import { findJob, listJobs, lockJob, updateJob } from '../../store/rows/jobs/jobs.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { resolveActor } from '../run/actor.ts'
import { ceilingBelow } from '../run/policy.ts'
import type { Engine } from '../runtime.ts'
import { addJob, deleteJob, editJob, editOf, enableJob, type JobAuthor, type JobDraft, noJob } from './change-job.ts'
import { areJobsHeld } from './fire.ts'
import { viewFire, viewJob } from './job-views.ts'
import { readNewJob, readSettings } from './read-settings.ts'

const shownTimes = 5
const shownFires = 20

const short = () => z.string().min(1).max(200).exactOptional()
const input = () =>
  z.strictObject({
    action: z.enum(['status', 'list', 'add', 'update', 'remove', 'run', 'runs']),
    id: z.int().positive().exactOptional().describe('the job, for update, remove, run and runs'),
    name: short(),
    at: short().describe('once: "in 20 min", "18:00 tomorrow" or 2026-12-24T18:00'),
    every: short().describe('repeat: "20s", "15 min", "weekday at 08:30"'),
    cron: short().describe('five fields: minute hour day month weekday'),
    on: short().describe('when an event of this name is emitted'),
    timezone: short(),
    activeHours: short().describe('HH:MM-HH:MM: not outside these hours'),
    message: z
      .string()
      .min(1)
      .max(20_000)
      .exactOptional()
      .describe('a task for an agent, with all that it needs to know'),
    event: z.string().min(1).max(20_000).exactOptional().describe('news for a session, such as a reminder'),
    session: short().describe('main, isolated (a new context each time) or a label'),
    agent: short(),
    model: short(),
    thinking: z.enum(thinkingLevels).exactOptional(),
    timeoutSeconds: z.number().positive().max(86_400).exactOptional(),
    deliver: z.array(z.string().startsWith('session:').max(200)).max(5).exactOptional().describe('session:LABEL'),
    missed: z.enum(missedPolicies).exactOptional(),
    cleanup: z.enum(jobCleanups).exactOptional(),
    enabled: z.boolean().exactOptional(),
  })
type CronInput = z.infer<ReturnType<typeof input>>

/**
 * Tool for jobs of the run's own principal. What it makes is trusted no more than the run that makes it. Only an agent that
 * talks with the user makes jobs, and a job makes none: nothing multiplies by itself.
 */
export function cronTool(engine: Engine, timezone: () => string): Tool {
  return defineTool(input, {
    name: cronToolName,
    // Looking at jobs changes nothing.
    sink: ({ action }) => (['status', 'list', 'runs'].includes(action) ? undefined : { sink: 'schedule' }),
    description:
      'Scheduled jobs. add needs a time (at, every, cron or on) and a message (a task for an agent, in a ' +
      'new context each time) or an event (news for a session, such as a reminder to the user). The answer shows the ' +
      'next times: check them. Also: list, update, remove, run (now), runs (history), status.',
    effect: 'transactional',
    action: 'job.change',
    async write(tx, asked, call) {
      const run = await findRun(tx as Tx, call.runId)
      if (!run) return refusal('this run is over')
      try {
        return { status: 'ok', output: await act(tx as Tx, { engine, timezone: timezone(), run, call }, asked) }
      } catch (error) {
        if (!(error instanceof HeddleError)) throw error
        return refusal(`${error.message}; ${error.remedy}`)
      }
    },
  }) as Tool
}

interface CronCall {
  engine: Engine
  /** Time zone of jobs that name none. */
  timezone: string
  run: Run
  call: CallContext
}

async function act(tx: Tx, cron: CronCall, asked: CronInput): Promise<unknown> {
  const { run, engine } = cron
  const now = engine.clock.now()
  const { principal } = run
  switch (asked.action) {
    case 'status':
    case 'list': {
      const jobs = await listJobs(tx, { principal, limit: 100 })
      return { jobs: jobs.map(viewJob), ...((await areJobsHeld(tx)) && { held: 'the owner must resume jobs first' }) }
    }
    case 'add':
      return addJobCall(tx, cron, asked)
    case 'update':
      return updateJobCall(tx, cron, asked)
    case 'remove':
      await deleteJob(tx, (await ownJob(tx, cron, asked)).id, now)
      return { status: 'ok' }
    case 'run':
      return runSoon(tx, cron, asked)
    case 'runs': {
      const { id: jobId } = await ownJob(tx, cron, asked)
      return { fires: (await listFires(tx, { jobId, limit: shownFires })).map(viewFire) }
    }
  }
}

async function addJobCall(tx: Tx, cron: CronCall, asked: CronInput): Promise<unknown> {
  const { run, call, engine, timezone } = cron
  await assertMayAdd(tx, run)
  const now = engine.clock.now()
  const draft = readNewJob(settingsOf(cron, asked), { now, timezone })
  const options = { ...draft.options, ceiling: ceilingBelow(run), permissions: await permissionsOf(tx, cron) }
  const session = await ownSession(tx, run, draft)
  return jobAnswer(await addJob(tx, { ...draft, options, session, folder: call.folder }, jobAuthor(cron), now), now)
}

async function updateJobCall(tx: Tx, cron: CronCall, asked: CronInput): Promise<unknown> {
  const { run, engine, timezone } = cron
  const now = engine.clock.now()
  const before = await ownJob(tx, cron, asked)
  const { id, options } = before
  const change = editOf(before, asked, readSettings(settingsOf(cron, asked), { now, timezone }))
  const given = { permissions: await permissionsOf(tx, cron), ceiling: ceilingBelow(run) }
  const session = await changedSession(tx, cron, { asked, before, change })
  const { ceiling = {}, permissions = [] } = mergeRunOptions([{ options }, { options: given }])
  const merged = {
    ...change,
    ...(session && { session }),
    options: { ...change.options, ceiling, permissions },
  }
  const job = await editJob(tx, id, { change: merged, author: jobAuthor(cron), now })
  return jobAnswer(asked.enabled === undefined ? job : await enableJob(tx, id, asked.enabled, now), now)
}

/** The session of a job that changes: the one that was named, else that of its new payload, as for a new job. */
async function changedSession(
  tx: Tx,
  { run }: CronCall,
  { asked, before, change }: { asked: CronInput; before: Job; change: Partial<JobDraft> },
): Promise<JobSession | undefined> {
  const { session, payload = before.payload } = change
  if (session && asked.session === undefined) return ownSession(tx, run, { payload })
  return session?.kind === 'isolated' ? isolatedSession(tx, run, before) : session
}

function jobAuthor({ run, call }: CronCall): JobAuthor {
  return { principal: run.principal, label: call.label ?? run.label }
}

/** News goes to the session that asked for it, unless another one is named; a task keeps the persona of that session. */
async function ownSession(tx: Tx, run: Run, draft: Pick<JobDraft, 'session' | 'payload'>): Promise<JobSession> {
  if (draft.session?.kind === 'label') return draft.session
  if (draft.session !== undefined || draft.payload !== 'systemEvent') return isolatedSession(tx, run)
  const [session] = await findSessions(tx, { id: run.sessionId ?? '' })
  return { kind: 'label', label: session?.label ?? 'main' }
}

/** A session of the job's own, with the persona of the author's session; a job that has one keeps it. */
async function isolatedSession(tx: Tx, run: Run, before?: Job): Promise<JobSession> {
  if (before?.session.kind === 'isolated') return before.session
  const [session] = await findSessions(tx, { id: run.sessionId ?? '' })
  const { personaId = null, boundBy = [] } = session ?? {}
  return { kind: 'isolated', ...(personaId !== null && { personaId }), ...(boundBy.length > 0 && { boundBy }) }
}

/** Permissions of the author, which hold wherever its job runs: another session has another persona, or none. */
async function permissionsOf(tx: Tx, { engine, run }: CronCall): Promise<Permissions[]> {
  const [session] = await findSessions(tx, { id: run.sessionId ?? '' })
  const permissions = session ? (await resolveActor(tx, engine, run, session)).permissions : run.options.permissions
  return [...(permissions ?? [])]
}

/** Lets the job fire at once. Not here: the fire locks sessions, which come before this run's row. */
async function runSoon(tx: Tx, cron: CronCall, asked: CronInput): Promise<unknown> {
  const { id } = await ownJob(tx, cron, asked)
  await assertMayAdd(tx, cron.run)
  const now = cron.engine.clock.now()
  const job = await lockJob(tx, id)
  if (!job?.isEnabled) throw new HeddleError('job_disabled', 'this job is disabled', 'enable it first')
  await updateJob(tx, { ...job, nextAt: Math.max(now, (job.lastAt ?? 0) + 1), updatedAt: now })
  return { status: 'ok', note: 'it fires now' }
}

function jobAnswer(job: Job, now: number): unknown {
  const next = job.isEnabled ? nextTimes(job, now, shownTimes) : []
  return { status: 'ok', job: viewJob(job), nextRuns: next.map((time) => new Date(time).toISOString()) }
}

/** A job of the run's principal; another's does not exist. */
async function ownJob(tx: Tx, { run }: CronCall, { id }: CronInput): Promise<Job> {
  if (id === undefined) throw new HeddleError('missing_id', 'which job?', 'give its id; list shows them')
  const job = await findJob(tx, id)
  if (job?.principal !== run.principal) throw noJob(id)
  return job
}

async function assertMayAdd(tx: Tx, run: Run): Promise<void> {
  const root = run.id === run.rootRunId ? run : await findRun(tx, run.rootRunId)
  if (root?.via === 'cron')
    throw new HeddleError('forbidden', 'a job starts no jobs', 'say in your answer that one is needed')
}

function settingsOf({ engine }: CronCall, { action: _, id: __, enabled: ___, ...asked }: CronInput) {
  if (asked.session?.startsWith('turn:'))
    throw new HeddleError('forbidden', 'turn:ID is only for jobs that a user creates', 'use main, isolated or a label')
  if (asked.model !== undefined && !engine.knowsModel(asked.model))
    throw new HeddleError('model_unknown', `there is no model "${asked.model}"`, 'leave it out')
  return asked
}

function refusal(error: string): ToolOutcome {
  return { status: 'error', output: { status: 'error', error } }
}
