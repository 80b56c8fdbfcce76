import type { JobView } from '../../api/views/job.ts'
import type { Millis } from '../../domain/clock.ts'

/** A moment as people write it, in the time zone of the job or of this machine. */
export function formatMoment(iso: string, timezone?: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', {
    ...{ dateStyle: 'short', timeStyle: 'medium' },
    ...(timezone !== undefined && { timeZone: timezone }),
  } as Intl.DateTimeFormatOptions)
  const day = new Intl.DateTimeFormat('en', { weekday: 'short', ...(timezone !== undefined && { timeZone: timezone }) })
  return `${day.format(new Date(iso))} ${format.format(new Date(iso))}`
}

/** `next in 12 min`, or what the job waits for. */
export function formatNextTime({ nextAt, kind, spec }: Pick<JobView, 'nextAt' | 'kind' | 'spec'>, now: Millis): string {
  if (nextAt === null) return kind === 'event' ? `on ${spec}` : 'no further runs'
  return `next ${formatUntil(Date.parse(nextAt) - now)}`
}

/** `in 12 min`. */
export function formatUntil(left: Millis): string {
  if (left <= 0) return 'now'
  const seconds = Math.ceil(left / 1000)
  if (seconds < 120) return `in ${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `in ${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `in ${hours} h` : `in ${Math.round(hours / 24)} days`
}
