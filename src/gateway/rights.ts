import { isDeepStrictEqual } from 'node:util'
import type { Heddle } from '../api/heddle.ts'
import type { Principal } from '../domain/access/principal.ts'
import type { Clock } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'

/** How soon a request of a revoked token ends. */
const recheckMs = 500

/** Max requests of one token at a time, streams included: no user may take all connections of the server. */
const maxOpenRequests = 256

/** On whose behalf a request comes. */
export interface Sender {
  /** Undefined for the owner on the private socket. */
  token: string | undefined
  principal: Principal
}

/** A request that is under way. */
interface OpenRequest {
  /** Aborts soon after the sender's token gives no longer the rights that the request began with; the reason says why. */
  lost: AbortSignal
  end(): void
}

interface WatchedRequest {
  principal: Principal
  lost: AbortController
}

/** Looks again, while requests are under way, whether their senders still have their rights: once per token for all of them. */
export class RightsWatch {
  readonly #heddle: Pick<Heddle, 'identify'>
  readonly #clock: Clock
  readonly #open = new Map<string, Set<WatchedRequest>>()
  readonly #stopped = new AbortController()
  #isWatching = false

  constructor(heddle: Pick<Heddle, 'identify'>, clock: Clock) {
    this.#heddle = heddle
    this.#clock = clock
  }

  /**
   * Begins to watch; `end` must be called. Throws if the token has too many requests under way. The owner on the private
   * socket, who has no token, keeps all rights.
   */
  begin({ token, principal }: Sender): OpenRequest {
    const lost = new AbortController()
    if (token === undefined) return { lost: lost.signal, end: () => undefined }
    const requests = this.#open.get(token) ?? new Set()
    if (requests.size >= maxOpenRequests) throw tooManyOpen()
    const request = { principal, lost }
    this.#open.set(token, requests.add(request))
    if (!this.#isWatching) void this.#watch()
    return {
      lost: lost.signal,
      end: () => {
        requests.delete(request)
        if (requests.size === 0 && this.#open.get(token) === requests) this.#open.delete(token)
      },
    }
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #watch(): Promise<void> {
    this.#isWatching = true
    while (this.#open.size > 0 && !this.#stopped.signal.aborted) {
      await this.#clock.sleep(recheckMs, this.#stopped.signal)
      await Promise.all([...this.#open].map(([token, requests]) => this.#check(token, requests)))
    }
    this.#isWatching = false
  }

  async #check(token: string, requests: ReadonlySet<WatchedRequest>): Promise<void> {
    try {
      const now = await this.#heddle.identify(token)
      for (const { principal, lost } of requests) if (!isDeepStrictEqual(now, principal)) lost.abort(rightsChanged())
    } catch (error) {
      for (const { lost } of requests) lost.abort(error)
    }
  }
}

/** Passes lines on for as long as the rights last. */
export async function* whileAllowed(lines: AsyncIterable<string>, lost: AbortSignal): AsyncIterable<string> {
  for await (const line of lines) {
    lost.throwIfAborted()
    yield line
  }
}

function tooManyOpen(): HeddleError {
  return new HeddleError(
    'too_many_requests',
    `this token has ${maxOpenRequests} open requests`,
    'end some of its streams, then try again',
    { retry: 'later' },
  )
}

function rightsChanged(): HeddleError {
  return new HeddleError('rights_changed', 'the permissions of this user have changed', 'repeat the request', {
    retry: 'later',
  })
}
