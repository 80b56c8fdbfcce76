import { forbidden } from '../domain/access/authorize.ts'
import { isOwner, type Principal } from '../domain/access/principal.ts'
import type { Event } from '../domain/event.ts'
import type { Runtime } from '../engine/runtime.ts'
import type { OwnedBy } from '../store/rows/access/own-sessions.ts'
import { sessionOfRun } from '../store/rows/runs.ts'
import { type SessionOwner, sessionOwners } from '../store/rows/sessions.ts'
import { type Caller, callerOf } from './guard/caller.ts'
import { withoutPrivateDetails } from './guard/private-views.ts'

/** Max sessions and runs of which it is remembered whose they are; that never changes. */
const maxKnown = 10_000

/** Says who may see events that were read once for all: with one lookup per session, however many followers there are. */
export class EventAudience {
  readonly #store: Runtime['store']
  readonly #sessions = new Map<string, Promise<SessionOwner | undefined>>()
  readonly #runs = new Map<string, Promise<string | undefined>>()

  constructor(store: Runtime['store']) {
    this.#store = store
  }

  /** Those of the events that a principal may see, as it may see them. Throws if it may see none at all. */
  async shownTo(principal: Principal, events: readonly Event[]): Promise<Event[]> {
    if (isOwner(principal)) return [...events]
    const only = filterOf(callerOf(principal))
    await this.#learn(new Set(events.flatMap((event) => sessionOf(event) ?? [])))
    const shown: Event[] = []
    for (const event of events) {
      const session = sessionOf(event)
      const isShown = session === undefined ? only.principal === undefined : await this.#belongs(session, only)
      if (isShown) shown.push(withoutPrivateDetails(event))
    }
    return shown
  }

  /** Whether a principal may receive a run's text. */
  async mayStream(principal: Principal, runId: string): Promise<boolean> {
    if (isOwner(principal)) return true
    const session = await this.#sessionOf(runId)
    if (session === undefined) return false
    await this.#learn(new Set([session]))
    return this.#belongs(session, filterOf(callerOf(principal)))
  }

  async #belongs(sessionId: string, { principal, withoutNarrator }: OwnedBy): Promise<boolean> {
    const owner = await this.#sessions.get(sessionId)
    if (!owner || (withoutNarrator && owner.kind === 'narrator')) return false
    return principal === undefined || owner.principal === principal
  }

  /** Looks up the sessions that are not known yet, all in one read. */
  async #learn(ids: ReadonlySet<string>): Promise<void> {
    const unknown = [...ids].filter((id) => !this.#sessions.has(id))
    if (unknown.length > 0) {
      const found = this.#store.read((rows) => sessionOwners(rows, unknown))
      for (const id of unknown)
        cacheAnswer(
          this.#sessions,
          id,
          found.then((owners) => owners.get(id)),
        )
    }
    await Promise.all([...ids].map((id) => this.#sessions.get(id)))
  }

  #sessionOf(runId: string): Promise<string | undefined> {
    const known = this.#runs.get(runId)
    if (known) return known
    return cacheAnswer(
      this.#runs,
      runId,
      this.#store.read((rows) => sessionOfRun(rows, runId)),
    )
  }
}

/** What of all events a caller may see; throws for one that may see none. */
function filterOf(caller: Caller): OwnedBy {
  if (caller.reach('event.read') === 'none') throw forbidden(caller.principal, 'event.read')
  return caller.only('event.read')
}

function sessionOf({ payload }: Event): string | undefined {
  const id = payload['sessionId']
  return typeof id === 'string' ? id : undefined
}

/** Keeps an answer that there is; what failed or was not there yet is asked again. */
function cacheAnswer<T>(known: Map<string, Promise<T | undefined>>, id: string, answer: Promise<T | undefined>) {
  known.set(id, answer)
  const forget = () => void (known.get(id) === answer && known.delete(id))
  answer.then((found) => found === undefined && forget(), forget)
  const [oldest] = known.keys()
  if (known.size > maxKnown && oldest !== undefined) known.delete(oldest)
  return answer
}
