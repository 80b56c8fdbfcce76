import type { Event } from '../domain/event.ts'
import { tail } from '../domain/id.ts'
import { paint, printable, type Screen } from './screen.ts'

interface Known {
  session?: string
  startedAt?: number
  calls: Map<string, number>
}

/** Tells events as people do: when, who, what, and how long it took. Remembers of each run only what that needs. */
export class EventLines {
  readonly #runs = new Map<string, Known>()
  readonly #screen: Screen

  constructor(screen: Screen) {
    this.#screen = screen
  }

  line(event: Event): string {
    const [kind = '', id = ''] = event.subject.split(':')
    const who = kind === 'run' || kind === 'turn' ? `${kind}:${tail(id)}` : event.subject
    return [clockTime(event.at), printable(who).padEnd(10), this.#what(event, id)].join('  ')
  }

  #what(event: Event, id: string): string {
    const { kind, at, payload } = event
    const word = (name: string) => printable(String(payload[name] ?? ''))
    const screen = this.#screen
    if (kind === 'turn.added') return `added to ${word('session')}`
    if (kind === 'memory.words_only') return paint(screen, 'yellow', `by words alone: ${word('message')}`)
    if (kind === 'memory.brought_back') return `found again, with all that were replaced by mistake: ${word('count')}`
    if (!kind.startsWith('run.')) return kind.replace(/^(session|turn)\./, '')
    const run: Known = this.#runs.get(id) ?? { calls: new Map() }
    this.#runs.set(id, run)
    if (payload['session'] !== undefined) run.session = word('session')
    switch (kind) {
      case 'run.queued': {
        const parent = payload['parent'] === undefined ? '' : `, for run:${tail(word('parent'))}`
        return `queued in ${run.session}${parent}`
      }
      case 'run.started':
        run.startedAt ??= at
        return Number(payload['epoch']) > 1 ? 'goes on' : 'started'
      case 'run.waiting':
        return paint(screen, 'yellow', `waits: ${word('for')}${payload['error'] ? `, ${word('error')}` : ''}`)
      case 'run.limited':
        return paint(screen, 'yellow', word('why'))
      case 'run.ended': {
        this.#runs.delete(id)
        const colour = payload['state'] === 'completed' ? 'green' : 'red'
        return paint(screen, colour, word('state')) + lasting(run.startedAt, at)
      }
      case 'run.undone':
        return `undone: ${word('restored')} put back, ${word('refused')} left as they are`
      default:
        return this.#step(run, event)
    }
  }

  #step(run: Known, { at, payload }: Event): string {
    const name = printable(String(payload['name'] ?? ''))
    switch (payload['kind']) {
      case 'begun':
        run.calls.set(name, at)
        return paint(this.#screen, 'cyan', name)
      case 'ended':
        return `${paint(this.#screen, 'cyan', name)} ended${lasting(run.calls.get(name), at)}`
      case 'steer':
        return 'heard what you typed'
      case 'reply':
        return 'replied'
      default:
        return printable(String(payload['kind']))
    }
  }
}

/** The time of day where the person is; a dash for a moment that nobody kept. */
export function clockTime(at: number): string {
  return Number.isNaN(at) ? '–'.padEnd(8) : new Date(at).toTimeString().slice(0, 8)
}

function lasting(from: number | undefined, to: number): string {
  return from === undefined ? '' : ` after ${((to - from) / 1000).toFixed(1)}s`
}
