import type { Millis } from '../clock.ts'
import { badSchedule, checkSchedule, minuteOf, nextTime, type Schedule } from './schedule.ts'

/** Current time and time zone. */
export interface ScheduleContext {
  now: Millis
  timezone: string
}

const second: Millis = 1000
const units: ReadonlyMap<string, Millis> = new Map([
  ...['s', 'sec', 'second', 'seconds'].map((word) => [word, second] as const),
  ...['min', 'm', 'minute', 'minutes'].map((word) => [word, 60 * second] as const),
  ...['h', 'hour', 'hours'].map((word) => [word, 3600 * second] as const),
])
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/**
 * Reads a time in words, by a closed grammar: `in N min|h`, `at HH:MM [day]`, `every N min|h|s`, `every day|weekday|DAY at
 * HH:MM`. Guessing at anything else would fire at a time that the user did not mean.
 */
export function scheduleFromWords(words: string, context: ScheduleContext): Schedule {
  const text = words.trim().toLowerCase().replace(/\s+/g, ' ')
  const schedule = readIn(text, context) ?? readAt(text, context) ?? readInterval(text) ?? readEvery(text, context)
  if (schedule) return checkSchedule(schedule)
  throw badSchedule(
    `"${words}" is not a time that Heddle understands`,
    'say "in 20 min", "at 18:00 tomorrow", "every 15 min", "every weekday at 08:30", or use --cron "30 8 * * 1-5"',
  )
}

/** Reads a date and a time, in the time zone unless the text has its own; undefined if it is none. */
export function momentFromIso(text: string, { timezone, now }: ScheduleContext): Millis | undefined {
  const [, date, time, zone] =
    /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?$/i.exec(text) ?? []
  if (date === undefined || time === undefined) return undefined
  if (zone !== undefined) return checkMoment(Date.parse(`${date}T${time}${zone}`), text)
  return onDate({ date, minute: minuteOf(time.slice(0, 5)) ?? 0 }, { timezone, now }) ?? checkMoment(Number.NaN, text)
}

function checkMoment(moment: Millis, text: string): Millis {
  if (!Number.isNaN(moment)) return moment
  throw badSchedule(`"${text}" is not a time, or has passed`, 'use a future time, such as 2026-12-24T18:00')
}

function readIn(text: string, { now }: ScheduleContext): Schedule | undefined {
  const [, count, word = ''] = /^in (\d{1,6}) ?([a-z]+)$/.exec(text) ?? []
  const unit = units.get(word)
  return count === undefined || unit === undefined || unit === second
    ? undefined
    : { kind: 'at', at: now + Number(count) * unit }
}

function readInterval(text: string): Schedule | undefined {
  const [, count, word = ''] = /^every (\d{1,8}) ?([a-z]+)$/.exec(text) ?? []
  const unit = units.get(word)
  return count === undefined || unit === undefined ? undefined : { kind: 'every', every: Number(count) * unit }
}

function readEvery(text: string, { timezone }: ScheduleContext): Schedule | undefined {
  const [, day = '', time = ''] = /^every ([a-z]+) at (\S+)$/.exec(text) ?? []
  const minute = minuteOf(time)
  const field = day === 'day' ? '*' : day === 'weekday' ? '1-5' : dayNumber(day)?.toString()
  return minute === undefined || field === undefined
    ? undefined
    : { kind: 'cron', expression: dailyAt(minute, field), timezone }
}

function readAt(text: string, context: ScheduleContext): Schedule | undefined {
  const [, time = '', day] = /^at (\S+)(?: (?:on )?(\S+))?$/.exec(text) ?? []
  const minute = minuteOf(time)
  if (minute === undefined) return undefined
  const at = day === undefined ? firstTime(dailyAt(minute, '*'), context) : onDay(day, minute, context)
  return at === undefined ? undefined : { kind: 'at', at }
}

function onDay(day: string, minute: number, context: ScheduleContext): Millis | undefined {
  const weekday = dayNumber(day)
  if (weekday !== undefined) return firstTime(dailyAt(minute, String(weekday)), context)
  const today = localDate(context.now, context.timezone)
  const date = day === 'today' ? today : day === 'tomorrow' ? dayAfter(today) : day
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined
  return onDate({ date, minute }, context) ?? checkMoment(Number.NaN, `at ${shownMinute(minute)} ${day}`)
}

/** A time on a date, with the same rule for skipped and repeated hours as every schedule; undefined once it has passed. */
function onDate({ date, minute }: { date: string; minute: number }, context: ScheduleContext): Millis | undefined {
  const [, month, day] = date.split('-').map(Number)
  const expression = `${minute % 60} ${Math.floor(minute / 60)} ${day} ${month} *`
  // A date has no field for the year: the look begins shortly before it, in any time zone.
  const now = Math.max(context.now, Date.parse(`${date}T00:00:00Z`) - 36 * 3_600_000)
  const time = firstTime(expression, { ...context, now })
  return time !== undefined && localDate(time, context.timezone) === date ? time : undefined
}

function firstTime(expression: string, { now, timezone }: ScheduleContext): Millis | undefined {
  return nextTime({ schedule: { kind: 'cron', expression, timezone }, startsAt: now }, now)
}

function dailyAt(minute: number, weekday: string): string {
  return `${minute % 60} ${Math.floor(minute / 60)} * * ${weekday}`
}

function dayNumber(day: string): number | undefined {
  const number = day.length < 3 ? -1 : weekdays.findIndex((name) => name === day || name.slice(0, 3) === day)
  return number < 0 ? undefined : number
}

function localDate(time: Millis, timezone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' }).format(new Date(time))
}

function dayAfter(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
}

function shownMinute(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}
