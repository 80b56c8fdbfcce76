import { type Event, stepsIn } from '../../domain/event.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { StreamItem } from '../../gateway/api.ts'
import { inThousands } from '../pages/answer-page.ts'
import { paint, printable, type Screen } from '../terminal/screen.ts'
import { StreamedText } from './streamed-text.ts'

/** One line about a compaction: what was summarised, and the token counts before and after. */
export function compactionLine(what: string, { from, to }: Event['payload']): string {
  return `${what} summarised: ${inThousands(Number(from))} → ${inThousands(Number(to))} tokens`
}

/** Progress of a request: streamed text, tools in use, and the number of agents working for it. */
export class Progress {
  readonly #screen: Screen
  readonly #place: { session: string; folder: string }
  readonly #stream = new StreamedText()
  readonly #runs = new Set<string>()
  readonly #agents = new Set<string>()
  readonly #tools: string[] = []
  /** Lines to print besides the answer: compactions. */
  readonly notices: string[] = []
  #runId: string | null

  constructor(screen: Screen, target: { session: string; folder: string; runId: string | null }) {
    this.#screen = screen
    this.#place = target
    this.#runId = target.runId
    if (target.runId !== null) this.#runs.add(target.runId)
  }

  apply(item: StreamItem): void {
    if (item.kind === 'live') this.#stream.apply(item.delta)
    else this.#applyEvent(item.event)
  }

  get text(): string {
    const text = this.#runId === null ? '' : this.#stream.of(this.#runId)
    const agents = `${countNoun(this.#agents.size, 'agent')} running`
    const doing = [...this.#tools.map((name) => printable(name)), ...(this.#agents.size > 0 ? [agents] : [])].join(', ')
    return [text, paint(this.#screen, 'dim', doing)].filter((part) => part !== '').join('\n')
  }

  #applyEvent(event: Event): void {
    const { kind, subject, payload } = event
    const id = subject.slice('run:'.length)
    const isHere = payload['session'] === this.#place.session && payload['folder'] === this.#place.folder
    switch (kind) {
      case 'run.queued':
        this.#noteAgent(id, payload)
        return
      case 'run.started':
        this.#noteAgent(id, payload)
        // A session has one run at a time: a later run belongs to the same request, or follows it.
        if (isHere) this.#runId = id
        if (isHere || this.#agents.has(id)) this.#runs.add(id)
        return
      case 'run.ended':
        this.#agents.delete(id)
        return
      case 'turn.added':
        if (payload['compaction'] !== undefined && this.#runs.has(String(payload['run'])))
          this.notices.push(compactionLine('older turns', payload['compaction'] as Event['payload']))
        return
      case 'run.step':
        if (id === this.#runId) for (const step of stepsIn(event)) this.#applyStep(step)
    }
  }

  #noteAgent(id: string, { parent }: Event['payload']): void {
    if (this.#runs.has(String(parent))) this.#agents.add(id)
  }

  #applyStep(step: Event['payload']): void {
    const [kind, name] = [step['kind'], String(step['name'])]
    if (kind === 'begun') this.#tools.push(name)
    if (kind === 'ended') this.#tools.splice(this.#tools.indexOf(name), 1)
    if (kind === 'compact') this.notices.push(compactionLine('earlier steps', step))
  }
}
