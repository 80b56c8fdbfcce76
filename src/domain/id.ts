import type { Clock, Millis, Random } from './clock.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const timeDigits = 9
const highDigits = 5
const lowDigits = 6
const highLimit = 32 ** highDigits
const lowLimit = 32 ** lowDigits

/** Number of id characters that people see and type. */
export const shortIdLength = 6

/** A whole id: 9 digits of time, 11 of chance, in an alphabet without look-alikes. Sorts by time. */
export const idPattern = /^[0-9a-hjkmnp-tv-z]{20}$/

/** Makes ids that sort in the order they were made within a process, and by the millisecond across processes. */
export function idSource(clock: Clock, random: Random): () => string {
  let time = -1
  let high = 0
  let low = 0
  return () => {
    const now = clock.now()
    const [chanceHigh, chanceLow] = chance(random)
    // A small random step keeps ids of one millisecond in order and their last digits unlike each other.
    low += 1 + chanceLow
    if (low >= lowLimit) {
      low -= lowLimit
      high++
    }
    if (now > time || high >= highLimit) {
      time = Math.max(now, time + 1)
      high = chanceHigh
      low = chanceLow
    }
    return digits(time, timeDigits) + digits(high, highDigits) + digits(low, lowDigits)
  }
}

/** A prefix that sorts before every id made at this time or later. */
export function firstIdAt(time: Millis): string {
  return digits(Math.max(0, Math.floor(time)), timeDigits)
}

/** The end of an id, enough for people to tell things apart on one screen. */
export function shortId(id: string): string {
  return id.slice(-shortIdLength)
}

/** Random numbers below 2^25 and 2^30: the 55 random bits of an id, in parts that fit 32-bit integers. */
function chance(random: Random): [high: number, low: number] {
  const bytes = random.bytes(8)
  const word = (at: number) =>
    ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)
  return [word(0) >>> 7, word(4) >>> 2]
}

function digits(value: number, count: number): string {
  let text = ''
  let rest = value
  for (let i = 0; i < count; i++) {
    text = alphabet[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
