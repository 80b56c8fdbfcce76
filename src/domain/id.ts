import type { Clock, Random } from './clock.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const timeDigits = 9
const tailDigits = 11
const tailLimit = 32n ** BigInt(tailDigits)

/** How many characters of an id people see and type. */
export const shownTail = 6

/** A whole id: 9 digits of time, 11 of chance, in an alphabet without look-alikes. Sorts by time. */
export const idPattern = /^[0-9a-hjkmnp-tv-z]{20}$/

/** Makes ids that sort in the order they were made within a process, and by the millisecond across processes. */
export function idSource(clock: Clock, random: Random): () => string {
  let lastTime = -1
  let lastTail = 0n
  return () => {
    const now = clock.now()
    // A small random step keeps ids of one millisecond in order and their last digits unlike each other.
    const stepped = lastTail + 1n + (chance(random) & 0xffff_ffffn)
    if (now > lastTime || stepped >= tailLimit) {
      lastTime = Math.max(now, lastTime + 1)
      lastTail = chance(random) % tailLimit
    } else {
      lastTail = stepped
    }
    return digits(BigInt(lastTime), timeDigits) + digits(lastTail, tailDigits)
  }
}

/** The end of an id, enough for people to tell things apart on one screen. */
export function tail(id: string): string {
  return id.slice(-shownTail)
}

function chance(random: Random): bigint {
  let value = 0n
  for (const byte of random.bytes(8)) value = (value << 8n) | BigInt(byte)
  return value
}

function digits(value: bigint, count: number): string {
  let text = ''
  let rest = value
  for (let i = 0; i < count; i++) {
    text = alphabet[Number(rest & 31n)] + text
    rest >>= 5n
  }
  return text
}
