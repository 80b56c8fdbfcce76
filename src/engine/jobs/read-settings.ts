import type { JobSettings, JobTimes } from '../../api/views/job.ts'
import { UsageError } from '../../domain/errors.ts'
import { type JobSession, parseDelivery } from '../../domain/jobs/job.ts'
import {
  type ActiveHours,
  badSchedule,
  checkSchedule,
  checkTimezone,
  type Schedule,
} from '../../domain/jobs/schedule.ts'
import { momentFromIso, type ScheduleContext, scheduleFromWords } from '../../domain/jobs/schedule-words.ts'
import type { JobDraft } from './change-job.ts'

/** Reads when a job fires; undefined if nothing of it is named. */
export function readSchedule(
  { at, every, cron, on, timezone }: JobTimes,
  context: ScheduleContext,
): Schedule | undefined {
  const given = [at, every, cron, on].filter((each) => each !== undefined)
  if (given.length === 0) return undefined
  if (given.length > 1) throw badSchedule('a job has one schedule', 'use one of --at, --every, --cron and --on')
  const here = { ...context, ...(timezone !== undefined && { timezone: checkTimezone(timezone) }) }
  if (on !== undefined) return checkSchedule({ kind: 'event', name: on })
  if (cron !== undefined) return checkSchedule({ kind: 'cron', expression: cron, timezone: here.timezone })
  if (every !== undefined) return scheduleFromWords(`every ${withoutFirst(every, 'every')}`, here)
  const words = at?.trim() ?? ''
  const moment = momentFromIso(words, here)
  if (moment !== undefined) return checkSchedule({ kind: 'at', at: moment })
  return scheduleFromWords(/^in\s/i.test(words) ? words : `at ${withoutFirst(words, 'at')}`, here)
}

/** Reads `HH:MM-HH:MM`. */
export function readActiveHours(
  { activeHours, timezone }: JobTimes,
  context: ScheduleContext,
): ActiveHours | undefined {
  if (activeHours === undefined) return undefined
  const [from = '', to = ''] = activeHours.split('-').map((time) => time.trim())
  return { from, to, timezone: timezone ?? context.timezone }
}

/** Reads the settings that are named; the name is the first words of the message by default. */
export function readSettings(settings: JobSettings, context: ScheduleContext): Partial<JobDraft> {
  const { message, event, session, agent, model, thinking, timeoutSeconds } = settings
  if (message !== undefined && event !== undefined)
    throw new UsageError('a job has either a message or an event', 'leave out --message or --event', 'bad_input')
  const schedule = readSchedule(settings, context)
  const activeHours = readActiveHours(settings, context)
  const options = {
    ...(agent !== undefined && { agent: agent.replace(/^@/, '') }),
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking: { level: thinking } }),
    ...(timeoutSeconds !== undefined && { timeoutMs: Math.ceil(timeoutSeconds * 1000) }),
  }
  return {
    ...(settings.name !== undefined && { name: settings.name }),
    ...(schedule && { schedule }),
    ...(activeHours && { activeHours }),
    ...(message !== undefined && { content: message, payload: 'agentTurn' as const }),
    ...(event !== undefined && { content: event, payload: 'systemEvent' as const }),
    ...(session !== undefined && { session: readSession(session) }),
    ...(Object.keys(options).length > 0 && { options }),
    ...(settings.deliver && { deliver: settings.deliver.map(parseDelivery) }),
    ...(settings.missed !== undefined && { missed: settings.missed }),
    ...(settings.cleanup !== undefined && { cleanup: settings.cleanup }),
    ...(settings.maxFailures !== undefined && { maxFailures: settings.maxFailures }),
  }
}

/** The settings of a new job: a schedule and something to say are needed. */
export function readNewJob(settings: JobSettings, context: ScheduleContext): Omit<JobDraft, 'folder'> {
  const { schedule, content, payload, name, ...more } = readSettings(settings, context)
  if (!schedule) throw badSchedule('a job needs a time', 'use --at, --every or --cron, or --on for an event')
  if (content === undefined || payload === undefined)
    throw new UsageError('a job needs a message or an event', 'use --message "…" or --event "…"', 'missing_option')
  return { ...more, schedule, content, payload, name: name ?? nameFrom(content) }
}

function readSession(text: string): JobSession {
  if (text === 'isolated') return { kind: 'isolated' }
  return text.startsWith('turn:') ? { kind: 'isolated', fromTurn: text } : { kind: 'label', label: text }
}

function nameFrom(content: string): string {
  const words = content.replace(/\s+/g, ' ').trim()
  return words.length <= 40 ? words : `${words.slice(0, 39)}…`
}

function withoutFirst(text: string, word: string): string {
  return text.trim().replace(new RegExp(`^${word}\\s+`, 'i'), '')
}
