import type { Event } from '../../domain/event.ts'
import type { EventHub } from '../event-hub.ts'

/** Counts what a server sees, for its metrics. */
export class ServerCounts {
  readonly events = new Map<string, number>()
  readonly ended = new Map<string, number>()
  readonly answers = new Map<string, number>()

  constructor(hub: Pick<EventHub, 'listen'>) {
    hub.listen((event) => this.#count(event))
  }

  countAnswer(status: number): void {
    add(this.answers, String(status))
  }

  #count({ kind, payload }: Event): void {
    add(this.events, kind)
    if (kind === 'run.ended') add(this.ended, String(payload['state']))
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
