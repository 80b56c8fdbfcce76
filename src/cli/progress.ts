import type { Event } from '../domain/event.ts'
import type { Told } from '../gateway/api.ts'
import { paint, printable, type Screen } from './screen.ts'
import { Speech } from './speech.ts'

/** How far a request is: what its session's run says, which tools it uses, and how many others work for it. */
export class Progress {
  readonly #screen: Screen
  readonly #place: { session: string; folder: string }
  readonly #speech = new Speech()
  readonly #runs = new Set<string>()
  readonly #agents = new Set<string>()
  readonly #tools: string[] = []
  #runId: string | null

  constructor(screen: Screen, asked: { session: string; folder: string; runId: string | null }) {
    this.#screen = screen
    this.#place = asked
    this.#runId = asked.runId
    if (asked.runId !== null) this.#runs.add(asked.runId)
  }

  hear(told: Told): void {
    if (told.kind === 'live') this.#speech.hear(told.sign)
    else this.#hearEvent(told.event)
  }

  get text(): string {
    const said = this.#runId === null ? '' : this.#speech.of(this.#runId)
    const agents = this.#agents.size === 1 ? '1 agent at work' : `${this.#agents.size} agents at work`
    const doing = [...this.#tools.map((name) => printable(name)), ...(this.#agents.size > 0 ? [agents] : [])].join(', ')
    return [said, paint(this.#screen, 'dim', doing)].filter((part) => part !== '').join('\n')
  }

  #hearEvent({ kind, subject, payload }: Event): void {
    const id = subject.slice('run:'.length)
    const isHere = payload['session'] === this.#place.session && payload['folder'] === this.#place.folder
    switch (kind) {
      case 'run.queued':
        if (this.#runs.has(String(payload['parent']))) this.#agents.add(id)
        return
      case 'run.started':
        // A session has one run at a time: once ours has begun, the next is of its request, or comes after it.
        if (isHere) this.#runId = id
        if (isHere || this.#agents.has(id)) this.#runs.add(id)
        return
      case 'run.ended':
        this.#agents.delete(id)
        return
      case 'run.step':
        if (id === this.#runId) this.#hearStep(String(payload['kind']), String(payload['name']))
    }
  }

  #hearStep(kind: string, name: string): void {
    if (kind === 'begun') this.#tools.push(name)
    if (kind === 'ended') this.#tools.splice(this.#tools.indexOf(name), 1)
  }
}
