import type { Clock, Millis } from '../domain/clock.ts'

const longest: Millis = 60 * 60 * 1000

/** How long a provider asks us to wait, in seconds or until a date. What no provider can mean is ignored. */
export function retryAfter(headers: Record<string, string> | undefined, clock: Clock): Millis | undefined {
  const written = headers?.['retry-after']?.trim() ?? ''
  const isSeconds = /^-?\d+(\.\d+)?$/.test(written)
  const duration = isSeconds ? Number(written) * 1000 : Date.parse(written) - clock.now()
  return duration >= 0 && duration <= longest ? duration : undefined
}
