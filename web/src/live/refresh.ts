import type { QueryClient, QueryKey } from '@tanstack/react-query'
import type { Event } from '../api/wire.ts'

/** Changes that come together are read together. */
const gatherFor = 20
/** What was just read rests: at least this long, and several times as long as reading it took, so that storms stay cheap. */
const leastRest = 250
const restPerReading = 4

/** Marks what an event changed as stale, so that what is on the screen is read again: soon, and not for each event. */
export class Refresher {
  readonly #client: QueryClient
  readonly #waiting = new Map<string, QueryKey>()
  /** When something may be read again; never while it is being read. */
  readonly #restsUntil = new Map<string, number>()
  #timer: number | undefined

  constructor(client: QueryClient) {
    this.#client = client
  }

  add(event: Event): void {
    for (const key of keysOf(event)) this.#waiting.set(JSON.stringify(key), key)
    this.#schedule(gatherFor)
  }

  everything(): void {
    void this.#client.invalidateQueries()
  }

  #schedule(leastWait = 0): void {
    const next = Math.min(...[...this.#waiting.keys()].map((name) => this.#restsUntil.get(name) ?? 0))
    if (this.#timer !== undefined || !Number.isFinite(next)) return
    this.#timer = window.setTimeout(() => this.#flush(), Math.max(leastWait, next - performance.now()))
  }

  #flush(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const [name, key] of [...this.#waiting])
      if ((this.#restsUntil.get(name) ?? 0) <= now) void this.#read(name, key)
    this.#schedule()
  }

  async #read(name: string, queryKey: QueryKey): Promise<void> {
    this.#waiting.delete(name)
    this.#restsUntil.set(name, Number.POSITIVE_INFINITY)
    const begun = performance.now()
    await this.#client.invalidateQueries({ queryKey })
    const now = performance.now()
    this.#restsUntil.set(name, now + Math.max(leastRest, restPerReading * (now - begun)))
    // Names of runs and tasks that were read long ago.
    for (const [rested, until] of this.#restsUntil) if (until < now) this.#restsUntil.delete(rested)
    this.#schedule()
  }
}

/** Keys of queries begin with the noun, then its id: `['run', id]`, `['runs', …]`. */
function keysOf({ kind, subject, payload }: Event): QueryKey[] {
  const [noun = '', id = ''] = [subject.slice(0, subject.indexOf(':')), subject.slice(subject.indexOf(':') + 1)]
  const turns: QueryKey[] = [['turns'], ['tree'], ['sessions'], ['status'], ['usage']]
  const plan = payload['plan']
  switch (kind) {
    case 'turn.added':
    case 'turn.imported':
      return turns
    case 'run.ended':
      return [...turns, ['runs'], ['run', id], ['steps', id], ['approvals'], ['plans'], ['plan']]
    case 'run.step':
      return [['runs'], ['run', id], ['steps', id]]
    case 'run.queued':
    case 'run.started':
    case 'run.waiting':
      // A plan waits for the user only while no run of its session could decide.
      return [['runs'], ['run', id], ['steps', id], ['status'], ['approvals'], ['sessions'], ['plans', 'needs you']]
    case 'run.fallback':
    case 'run.limited':
    case 'run.undone':
      return [['run', id]]
    case 'approval.asked':
    case 'approval.answered':
      return [['approvals'], ['approval', id], ['status'], ['runs'], ['plans'], ['plan'], ['grants']]
    case 'grant.lapsed':
    case 'grant.revoked':
      return [['grants']]
    case 'plan.changed':
      return [['plans'], ['plan', id], ['status'], ['approvals']]
    case 'task.changed':
      // An edit of a task changes the question whether to start its plan.
      return [['plans'], ['plan', String(plan)], ['task', id], ['approvals'], ['status']]
    default:
      return noun === 'memory' ? [['memories']] : [['sessions'], ['tree']]
  }
}
