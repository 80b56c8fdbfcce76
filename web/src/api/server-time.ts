/** Smaller differences are none: the header has whole seconds, and an answer takes its time. */
const tolerance = 5_000

/** By how much Heddle's clock is ahead of this browser's, in milliseconds. */
let ahead = 0

/** Takes note of the time that an answer has in its header. */
export function noteServerTime(date: string | null): void {
  const difference = Date.parse(date ?? '') - Date.now()
  if (Number.isNaN(difference) || Math.abs(difference - ahead) <= tolerance) return
  ahead = Math.abs(difference) <= tolerance ? 0 : difference
}

/** The time by Heddle's clock, which all times in its answers are of: this browser's may be wrong. */
export function serverNow(): number {
  return toServerTime(Date.now())
}

/** A time of this browser's clock by Heddle's. */
export function toServerTime(at: number): number {
  return at + ahead
}
