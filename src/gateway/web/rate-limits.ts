import type { Clock, Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'

/** Max callers that are told apart; the one that has been silent for longest is forgotten first. */
const maxCallers = 1000

/** How often a caller may do something: so often at once, and so often per second in the long run. */
interface Rate {
  burst: number
  perSecond: number
}

/** Token buckets, one per caller, bounded in number: someone with many names cannot fill the memory. */
export class RateLimits {
  readonly #rate: Rate
  readonly #clock: Pick<Clock, 'now'>
  readonly #buckets = new Map<string, { left: number; at: Millis }>()

  constructor(rate: Rate, clock: Pick<Clock, 'now'>) {
    this.#rate = rate
    this.#clock = clock
  }

  /** Counts one; throws if the caller has none left. */
  take(caller: string): void {
    const bucket = this.#filled(caller)
    if (bucket.left < 1) throw this.#tooMany()
    bucket.left -= 1
  }

  /** Throws if the caller has none left. */
  assertLeft(caller: string): void {
    if (this.#buckets.has(caller) && this.#filled(caller).left < 1) throw this.#tooMany()
  }

  #filled(caller: string): { left: number; at: Millis } {
    const { burst, perSecond } = this.#rate
    const now = this.#clock.now()
    const known = this.#buckets.get(caller)
    const bucket = known ?? { left: burst, at: now }
    bucket.left = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * perSecond)
    bucket.at = now
    // Deleted and set again: the first of the map is the one that was silent for longest.
    this.#buckets.delete(caller)
    this.#buckets.set(caller, bucket)
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > maxCallers && oldest !== undefined) this.#buckets.delete(oldest)
    return bucket
  }

  #tooMany(): HeddleError {
    const seconds = Math.ceil(1 / this.#rate.perSecond)
    return new HeddleError('too_many_requests', 'too many requests', `wait ${seconds} s, then try again`, {
      retry: 'later',
    })
  }
}

/** The address that a limit counts for: an IPv4 address however it is written, and the network (/64) of an IPv6 one. */
export function callerAddress(remote: string | undefined): string {
  const address = remote ?? ''
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length)
  return address.includes(':') && address !== '::1' ? `${groupsOf(address).slice(0, 4).join(':')}::/64` : address
}

/** The eight groups of an IPv6 address; `::` stands for those that are 0. */
function groupsOf(address: string): string[] {
  const [head = [], tail = []] = address.split('::').map((side) => side.split(':').filter((group) => group !== ''))
  const zeros = Math.max(0, 8 - head.length - tail.length)
  return [...head, ...Array.from({ length: zeros }, () => '0'), ...tail]
}
