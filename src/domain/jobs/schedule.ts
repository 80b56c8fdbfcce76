import { Cron } from 'croner'
import type { Millis } from '../clock.ts'
import { UsageError } from '../errors.ts'

export const scheduleKinds = ['at', 'every', 'cron', 'event'] as const
export type ScheduleKind = (typeof scheduleKinds)[number]

/** When a job fires: once, at an interval from its start, by a cron expression in a time zone, or when an event is emitted. */
export type Schedule =
  | { kind: 'at'; at: Millis }
  | { kind: 'every'; every: Millis }
  | { kind: 'cron'; expression: string; timezone: string }
  | { kind: 'event'; name: string }

/** Hours of the day, in a time zone, outside which a job has no times: `22:00` to `06:00` goes over midnight. */
export interface ActiveHours {
  from: string
  to: string
  timezone: string
}

/** A schedule with the moment from which its intervals count. */
export interface Timetable {
  schedule: Schedule
  startsAt: Millis
  activeHours?: ActiveHours
}

const minEvery: Millis = 1000
const maxEvery: Millis = 366 * 24 * 3_600_000

/** Max days to look for a time within the active hours; a schedule that has none on so many days never fires. */
const maxLooks = 400

/**
 * The first time of a schedule after a moment; undefined if there is none. Cron expressions follow the clock on the wall: a
 * time that the clock skips fires once, at the end of the gap; in an hour that comes twice a fixed time fires in the first
 * one only, and one that repeats within the hour in both. A pattern whose times all lie in the gap is left out on that day.
 */
export function nextTime(timetable: Timetable, after: Millis): Millis | undefined {
  let time = firstAfter(timetable, after)
  for (let look = 0; time !== undefined && look < maxLooks; look++) {
    const opening = openingAfter(timetable.activeHours, time)
    if (opening === undefined) return time
    time = firstAfter(timetable, opening - 1)
  }
  return undefined
}

/** How late a time may be before it counts as missed, and how far a clock may be set back before times come again. */
export const timeGrace: Millis = 60_000

/**
 * The time for which a job waits, `lastAt` being the last one that was handled: the first after both that one and now. When
 * the clock was set back by more than a time of the schedule, it is the first after now: a job must not be silent until the
 * clock shows again what it has shown before.
 */
export function timeToAwait(timetable: Timetable, lastAt: Millis | null, now: Millis): Millis | undefined {
  const next = nextTime(timetable, now)
  const isHandled = next !== undefined && lastAt !== null && next <= lastAt && lastAt - next <= timeGrace
  return isHandled ? nextTime(timetable, lastAt) : next
}

/** The last time of a schedule after one moment and not after another: of several missed times, the one to catch up. */
export function latestTime(timetable: Timetable, after: Millis, until: Millis): Millis | undefined {
  let low = after
  let found: Millis | undefined
  // Halves the span, since it may hold years of times. After `high` there is none.
  for (let high = until; low < high; ) {
    const middle = low + Math.floor((high - low) / 2)
    const time = nextTime(timetable, middle)
    if (time !== undefined && time <= until) {
      found = time
      low = time
    } else high = middle
  }
  return found
}

/** The next times, for people to check what they wrote. */
export function nextTimes(timetable: Timetable, after: Millis, count: number): Millis[] {
  const times: Millis[] = []
  for (let time = nextTime(timetable, after); time !== undefined; time = nextTime(timetable, time)) {
    times.push(time)
    if (times.length === count) break
  }
  return times
}

/** Refuses a schedule that could never fire, or too often. */
export function checkSchedule(schedule: Schedule): Schedule {
  if (schedule.kind === 'event') return { kind: 'event', name: checkEventName(schedule.name) }
  if (schedule.kind === 'at') {
    if (Number.isSafeInteger(schedule.at) && !Number.isNaN(new Date(schedule.at).getTime())) return schedule
    throw badSchedule('this is not a time', 'use a time such as 2026-12-24T18:00 or "at 18:00 tomorrow"')
  }
  if (schedule.kind === 'every') {
    const { every } = schedule
    if (Number.isSafeInteger(every) && every >= minEvery && every <= maxEvery) return schedule
    throw badSchedule('the interval is too short or too long', 'use 1s to 8784h, such as 20s, 15min or 2h')
  }
  checkTimezone(schedule.timezone)
  const cron = parseCron(schedule)
  if (cron.nextRun(new Date(0)) === null)
    throw badSchedule(
      `"${schedule.expression}" matches no date: it would never run`,
      'use a day that exists in that month',
    )
  return schedule
}

/** Refuses active hours that do not fit the schedule, and times that never come. */
export function checkTimetable<T extends Timetable>(timetable: T, now: Millis): T {
  const { schedule, activeHours } = timetable
  if (activeHours && (schedule.kind === 'at' || schedule.kind === 'event'))
    throw badSchedule('active hours are for jobs that repeat', 'use --every or --cron')
  if (activeHours) checkActiveHours(activeHours)
  if (schedule.kind === 'event' || nextTime(timetable, now) !== undefined) return timetable
  throw badSchedule('this job would never run: it has no future time', 'give a future time, such as --at "in 20 min"')
}

/** Refuses names that a command line or an address could not hold. */
export function checkEventName(name: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name)) return name
  throw badSchedule(`"${name}" cannot name an event`, 'use 1 to 64 letters, digits and . _ -, such as deploy.done')
}

/** Refuses unknown time zones. */
export function checkTimezone(timezone: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
    return timezone
  } catch {
    throw badSchedule(
      `there is no time zone "${timezone}"`,
      'use a name such as Europe/Berlin, America/New_York or UTC',
    )
  }
}

/** Refuses active hours that are no times of day, or that leave none. */
export function checkActiveHours(hours: ActiveHours): ActiveHours {
  checkTimezone(hours.timezone)
  if (minuteOf(hours.from) !== undefined && minuteOf(hours.to) !== undefined && hours.from !== hours.to) return hours
  throw badSchedule('the active hours are not two times of day', 'use HH:MM-HH:MM, such as 08:00-22:00')
}

/** Minute of the day of `HH:MM`. */
export function minuteOf(text: string): number | undefined {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes)
}

export function badSchedule(message: string, remedy: string): UsageError {
  return new UsageError(message, remedy, 'bad_schedule')
}

function firstAfter({ schedule, startsAt }: Timetable, after: Millis): Millis | undefined {
  if (schedule.kind === 'event') return undefined
  if (schedule.kind === 'at') return schedule.at > after ? schedule.at : undefined
  if (schedule.kind === 'every') {
    const { every } = schedule
    return startsAt + Math.max(1, Math.floor((after - startsAt) / every) + 1) * every
  }
  return parseCron(schedule).nextRun(new Date(after))?.getTime()
}

/** Five fields only: croner itself also takes seconds, years, dates and words such as `@daily`. */
function parseCron({ expression, timezone }: { expression: string; timezone: string }): Cron {
  const form = 'use five fields: minute hour day month weekday, such as "30 8 * * 1-5"'
  if (expression.trim().split(/\s+/).length !== 5) throw badSchedule(`"${expression}" is not a cron expression`, form)
  try {
    return new Cron(expression.trim(), { timezone, paused: true, mode: '5-part' })
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
    throw badSchedule(`"${expression}" is not a cron expression: ${reason}`, form)
  }
}

/** When the active hours begin next, for a moment outside them; undefined for one within them. */
function openingAfter(hours: ActiveHours | undefined, time: Millis): Millis | undefined {
  if (!hours) return undefined
  const from = minuteOf(hours.from) ?? 0
  const to = minuteOf(hours.to) ?? 0
  const minute = minuteOfDay(time, hours.timezone)
  const isActive = from < to ? minute >= from && minute < to : minute >= from || minute < to
  if (isActive) return undefined
  const expression = `${from % 60} ${Math.floor(from / 60)} * * *`
  return parseCron({ expression, timezone: hours.timezone }).nextRun(new Date(time))?.getTime()
}

function minuteOfDay(time: Millis, timezone: string): number {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' })
  return minuteOf(format.format(new Date(time))) ?? 0
}
