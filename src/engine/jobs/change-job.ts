import { ownerText } from '../../domain/access/principal.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { DeliveryTarget, Job, JobCleanup, JobPayload, JobSession } from '../../domain/jobs/job.ts'
import {
  badSchedule,
  checkActiveHours,
  checkSchedule,
  checkTimetable,
  checkTimezone,
  nextTime,
  type Schedule,
  type Timetable,
} from '../../domain/jobs/schedule.ts'
import { joinLabels, type Label } from '../../domain/label.ts'
import { parseReference } from '../../domain/reference.ts'
import { pickRunOptions } from '../../domain/run-options.ts'
import { checkLabel, checkLabelOf, isLabelOf, labelFor } from '../../domain/session.ts'
import { countJobs, insertJob, lockJob, removeJob, updateJob } from '../../store/rows/jobs/jobs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Tx } from '../../store/store.ts'
import { isStillAllowed } from '../run/sender.ts'
import { assertPersonaExists } from '../turns/persona-session.ts'
import { notFound, routeToThread } from '../turns/route.ts'

/** Settings of a job that a user or a run chooses. */
export type JobDraft = Pick<Job, 'name' | 'schedule' | 'folder' | 'content' | 'payload'> &
  Partial<Pick<Job, 'activeHours' | 'session' | 'options' | 'deliver' | 'missed' | 'cleanup' | 'maxFailures'>>

/** On whose behalf a job is made or changed, and the label of what led to it. */
export interface JobAuthor {
  principal: string
  label: Label
}

const maxName = 80
const maxContent = 100_000
/** Max jobs of one principal. */
const maxJobs = 1000
const defaultMaxFailures = 5
const mostFailures = 1000
const mainLabel = 'main'

/** Adds a job, which fires from now on. */
export async function addJob(tx: Tx, draft: JobDraft, author: JobAuthor, now: Millis): Promise<Job> {
  if ((await countJobs(tx, { principal: author.principal })) >= maxJobs)
    throw new HeddleError('too_many_jobs', `there are ${maxJobs} jobs already`, 'remove some: heddle cron rm ID')
  const settings = await checkDraft(tx, draft, author.principal)
  const job = {
    ...settings,
    principal: author.principal,
    label: author.label,
    startsAt: now,
    failures: 0,
    isEnabled: true,
    disabledReason: null,
    nextAt: null,
    lastAt: null,
    lastStatus: null,
    version: 1,
    createdAt: now,
    updatedAt: now,
  }
  return insertJob(tx, arm(job, now))
}

/**
 * A change with what follows from it: a time zone moves times and active hours, the session is that of the new payload unless
 * another one was chosen, and options that are not named stay as they were.
 */
export function editOf(
  job: Job,
  { timezone }: { timezone?: string | undefined },
  change: Partial<JobDraft>,
): Partial<JobDraft> {
  const moved = timezone === undefined ? {} : inTimezone(job, timezone)
  const { schedule = moved.schedule, activeHours = moved.activeHours } = change
  if (timezone !== undefined && !schedule && !activeHours) throw noTimezone(job.schedule)
  const session = change.session ?? sessionAfter(job, change)
  return { ...moved, ...change, ...(session && { session }), options: { ...job.options, ...change.options } }
}

/** The times of a job that are in a time zone, in another one. */
function inTimezone({ schedule, activeHours }: Timetable, zone: string): Partial<Timetable> {
  const timezone = checkTimezone(zone)
  return {
    ...(schedule.kind === 'cron' && { schedule: { ...schedule, timezone } }),
    ...(activeHours && { activeHours: { ...activeHours, timezone } }),
  }
}

/** Why a time zone alone changes nothing, and what would. */
function noTimezone({ kind }: Schedule): UsageError {
  if (kind === 'event')
    return badSchedule('a time zone has no effect: this job waits for an event', 'name a time as well: --every')
  if (kind === 'at')
    return badSchedule('its time is a moment, the same everywhere', 'name the time again as well: --at')
  return badSchedule(
    'an interval is the same in every time zone',
    'name times of day as well: --every "day at 08:30", or --active 08:00-22:00',
  )
}

/** The session of a job whose payload changes, if it had the one of its payload before. */
function sessionAfter({ payload, session }: Job, change: Partial<JobDraft>): JobSession | undefined {
  if (change.payload === undefined || change.payload === payload) return undefined
  const hadOther =
    session.kind === 'isolated'
      ? payload === 'systemEvent' || session.fromTurn !== undefined
      : payload === 'agentTurn' || session.label !== mainLabel
  return hadOther ? undefined : defaultSession(change.payload)
}

/** News goes to the main session, where an agent decides about it; a task has a session of its own. */
function defaultSession(payload: JobPayload): JobSession {
  return payload === 'systemEvent' ? { kind: 'label', label: mainLabel } : { kind: 'isolated' }
}

/** Changes a job. What a run changes is trusted no more than that run. */
export async function editJob(
  tx: Tx,
  id: number,
  { change, author, now }: { change: Partial<JobDraft>; author: JobAuthor; now: Millis },
): Promise<Job> {
  const before = await lockExisting(tx, id)
  const { cleanup: cleanupBefore, ...kept } = before
  // A default is that of the schedule: a one-shot that becomes a repeated job must not end after one fire.
  const cleanup = cleanupBefore === defaultCleanup(before.schedule) ? {} : { cleanup: cleanupBefore }
  const settings = await checkDraft(tx, { ...kept, ...cleanup, ...change }, before.principal)
  const isMoved = change.schedule !== undefined || change.activeHours !== undefined
  const job = {
    ...before,
    ...settings,
    label: joinLabels([before.label, author.label]),
    ...(isMoved && { startsAt: now }),
  }
  return save(tx, job.isEnabled && isMoved ? arm(job, now) : job, now)
}

/** Lets a job fire again from now on, or no more. */
export async function enableJob(tx: Tx, id: number, isEnabled: boolean, now: Millis): Promise<Job> {
  const job = await lockExisting(tx, id)
  if (job.isEnabled === isEnabled) return job
  if (!isEnabled) return save(tx, { ...job, isEnabled, nextAt: null, disabledReason: null }, now)
  // What is due is counted from now: a job that was away for a month has missed nothing.
  return save(tx, arm({ ...job, isEnabled, failures: 0, disabledReason: null }, now), now)
}

export async function deleteJob(tx: Tx, id: number, now: Millis): Promise<void> {
  await removeJob(tx, await lockExisting(tx, id), now)
}

export function noJob(id: number): HeddleError {
  return notFound('job', String(id))
}

async function lockExisting(tx: Tx, id: number): Promise<Job> {
  const job = await lockJob(tx, id)
  if (!job) throw noJob(id)
  return job
}

async function save(tx: Tx, job: Job, now: Millis): Promise<Job> {
  const saved = { ...job, version: job.version + 1, updatedAt: now }
  await updateJob(tx, saved)
  return saved
}

/** Sets the next time; refuses a job that would have none. */
function arm<T extends Omit<Job, 'id'>>(job: T, now: Millis): T {
  return { ...job, nextAt: nextTime(checkTimetable(job, now), now) ?? null }
}

async function checkDraft(tx: Tx, draft: JobDraft, principal: string) {
  const { schedule, activeHours, payload, folder } = draft
  const name = draft.name.trim()
  if (name === '' || name.length > maxName || /\p{Cc}/u.test(name))
    throw new UsageError('a job needs a name of 1 to 80 characters', 'give one with --name', 'bad_name')
  if (draft.content.trim() === '' || draft.content.length > maxContent)
    throw new UsageError(
      'a job needs a message or an event of 1 to 100,000 characters',
      'give it with --message or --event',
      'bad_input',
    )
  const { maxFailures = defaultMaxFailures } = draft
  if (!Number.isSafeInteger(maxFailures) || maxFailures < 1 || maxFailures > mostFailures)
    throw new UsageError('this is not a number of failures', `use 1 to ${mostFailures}`, 'bad_limit')
  if (activeHours && (schedule.kind === 'at' || schedule.kind === 'event'))
    throw new UsageError('active hours are for jobs that repeat', 'use --every or --cron', 'bad_schedule')
  return {
    name,
    schedule: checkSchedule(schedule),
    ...(activeHours && { activeHours: checkActiveHours(activeHours) }),
    folder,
    session: await checkSession(tx, draft, principal),
    payload,
    content: draft.content,
    options: pickRunOptions(draft.options ?? {}),
    deliver: await checkDeliveries(tx, draft, principal),
    missed: draft.missed ?? ('once' as const),
    cleanup: draft.cleanup ?? defaultCleanup(schedule),
    maxFailures,
  }
}

function defaultCleanup({ kind }: Schedule): JobCleanup {
  return kind === 'at' ? 'disable' : 'keep'
}

async function checkSession(
  tx: Tx,
  { session, payload, folder }: JobDraft,
  principal: string,
): Promise<Job['session']> {
  if (session === undefined) return defaultSession(payload)
  if (session.kind === 'isolated') {
    if (session.fromTurn === undefined) return session
    return { ...session, fromTurn: (await routeToThread(tx, session.fromTurn, folder)).turnId }
  }
  const { kind, id } = parseReference(session.label)
  if (kind !== 'persona') {
    const label = kind === 'session' ? id : session.label
    await checkTarget(tx, { folder, label, principal })
    return { kind: 'label', label }
  }
  await assertPersonaExists(tx, id)
  return session
}

async function checkDeliveries(
  tx: Tx,
  { deliver = [], folder }: JobDraft,
  principal: string,
): Promise<DeliveryTarget[]> {
  for (const { kind, to } of deliver)
    if (kind === 'session' && parseReference(to).kind !== 'persona')
      await checkTarget(tx, { folder, label: to, principal })
  return deliver
}

/** Refuses the label of a session that is another's, or does not exist and could not be made: each fire would fail. */
async function checkTarget(
  tx: Tx,
  { folder, label, principal }: { folder: string; label: string; principal: string },
): Promise<void> {
  const stored = labelFor(principal, checkLabel(label))
  const [existing] = await findSessions(tx, { folder, label: stored })
  if (
    existing
      ? await isStillAllowed(tx, principal, 'run.ask', { principal: existing.principalId })
      : isLabelOf(principal, stored)
  )
    return
  // The owner sees all labels; to others, another's session and one that does not exist are the same.
  if (principal === ownerText) checkLabelOf(principal, stored)
  throw notFound('session', label)
}
