import type { QueryClient, QueryKey } from '@tanstack/react-query'
import type { Event } from '../api/wire.ts'

/** Time in which changes of the same list are read once. */
const firstWait = 60
const nextWait = 700

/** Marks what an event changed as stale, so that what is on the screen is read again: soon, and not for each event. */
export class Refresher {
  readonly #client: QueryClient
  readonly #waiting = new Map<string, QueryKey>()
  readonly #lastAt = new Map<string, number>()
  #timer: number | undefined

  constructor(client: QueryClient) {
    this.#client = client
  }

  add(event: Event): void {
    for (const key of keysOf(event)) this.#waiting.set(JSON.stringify(key), key)
    this.#schedule()
  }

  everything(): void {
    void this.#client.invalidateQueries()
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return
    const now = performance.now()
    const dueIn = (name: string) => Math.max(firstWait, (this.#lastAt.get(name) ?? -nextWait) + nextWait - now)
    this.#timer = window.setTimeout(() => this.#flush(), Math.min(...[...this.#waiting.keys()].map(dueIn)))
  }

  #flush(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const [name, queryKey] of [...this.#waiting]) {
      if (now - (this.#lastAt.get(name) ?? -nextWait) < nextWait - 1) continue
      this.#waiting.delete(name)
      this.#lastAt.set(name, now)
      void this.#client.invalidateQueries({ queryKey })
    }
    if (this.#lastAt.size > 1000) this.#lastAt.clear()
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
      return [['runs'], ['run', id], ['steps', id], ['status'], ['approvals'], ['sessions']]
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
      return [['plans'], ['plan', String(plan)], ['task', id], ['approvals']]
    default:
      return noun === 'memory' ? [['memories']] : [['sessions'], ['tree']]
  }
}
