import { isDeepStrictEqual } from 'node:util'
import type { Principal } from '../domain/access/principal.ts'
import type { Clock } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'

/** How soon a request of a revoked token ends. */
const recheckMs = 500

/** Who sent a request, and how to find out again. */
interface Sender {
  principal: Principal
  identify(): Promise<Principal>
}

/**
 * Aborts soon after the sender's token is no longer good, or stands for other rights than those that the request began with;
 * the reason says which.
 */
export function watchRights({ principal, identify }: Sender, clock: Clock, ended: AbortSignal): AbortSignal {
  const lost = new AbortController()
  void (async () => {
    while (!ended.aborted && !lost.signal.aborted) {
      await clock.sleep(recheckMs, ended)
      if (ended.aborted) return
      try {
        if (!isDeepStrictEqual(await identify(), principal)) lost.abort(rightsChanged())
      } catch (error) {
        lost.abort(error)
      }
    }
  })()
  return lost.signal
}

/** Passes lines on for as long as the rights last. */
export async function* whileAllowed(lines: AsyncIterable<string>, lost: AbortSignal): AsyncIterable<string> {
  for await (const line of lines) {
    lost.throwIfAborted()
    yield line
  }
}

function rightsChanged(): HeddleError {
  return new HeddleError(
    'rights_changed',
    'the rights of this user have changed',
    'ask again, with what it may see now',
    { retry: 'later' },
  )
}
