import type { Clock, Millis } from '../../domain/clock.ts'

const maxWait: Millis = 60 * 60 * 1000

/** Wait time of a `retry-after` header, in seconds or as a date. Implausible values are ignored. */
export function retryAfter(headers: Record<string, string> | undefined, clock: Clock): Millis | undefined {
  const value = headers?.['retry-after']?.trim() ?? ''
  const isSeconds = /^-?\d+(\.\d+)?$/.test(value)
  const duration = isSeconds ? Number(value) * 1000 : Date.parse(value) - clock.now()
  return duration >= 0 && duration <= maxWait ? duration : undefined
}
