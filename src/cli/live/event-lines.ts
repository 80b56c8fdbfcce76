import { type Event, stepsIn } from '../../domain/event.ts'
import { shortId } from '../../domain/id.ts'
import { retryReason } from '../../domain/text/failure-words.ts'
import { paint, printable, type Screen } from '../terminal/screen.ts'

interface PrintedRun {
  /** Whether it was said where it runs. */
  isPlaced?: boolean
  startedAt?: number
  calls: Map<string, number>
}

/** Formats events for people: when, who, what, and how long it took. Keeps state only for runs that have not ended. */
export class EventLines {
  readonly #runs = new Map<string, PrintedRun>()
  readonly #screen: Screen

  constructor(screen: Screen) {
    this.#screen = screen
  }

  /** One line, or several for steps that were journalled together. */
  lines(event: Event): string {
    const [kind = '', id = ''] = event.subject.split(':')
    const who = kind === 'run' || kind === 'turn' ? `${kind}:${shortId(id)}` : event.subject
    const told = event.kind === 'run.step' ? stepsIn(event) : [event.payload]
    return told
      .map((payload) => this.#what({ ...event, payload }, id))
      .map((what) => [clockTime(event.at), printable(who).padEnd(10), what].join('  '))
      .join('\n')
  }

  #what(event: Event, id: string): string {
    const { kind, at, payload } = event
    const word = (name: string) => printable(String(payload[name] ?? ''))
    const screen = this.#screen
    if (!kind.startsWith('run.')) return this.#otherThanRun(event)
    const run: PrintedRun = this.#runs.get(id) ?? { calls: new Map() }
    this.#runs.set(id, run)
    switch (kind) {
      case 'run.queued':
        run.isPlaced = true
        return `queued ${placeOf(event)}`
      case 'run.started':
        run.startedAt ??= at
        if (Number(payload['epoch']) > 1) return 'resumed'
        // A run that is claimed at once was never queued.
        return run.isPlaced ? 'started' : `started ${placeOf(event)}`
      case 'run.waiting':
        return paint(
          screen,
          'yellow',
          payload['for'] === 'retry' ? `${retryReason(word('error'))}, retrying` : `waiting for ${word('for')}`,
        )
      case 'run.fallback': {
        const failure = `${word('from')} failed (${retryReason(word('error'))})`
        return paint(screen, 'yellow', `${failure}, continuing with ${word('to')}`)
      }
      case 'run.limited':
        return paint(screen, 'yellow', word('why'))
      case 'run.ended': {
        this.#runs.delete(id)
        const colour = payload['state'] === 'completed' ? 'green' : 'red'
        return paint(screen, colour, word('state')) + formatElapsed(run.startedAt, at)
      }
      case 'run.undone':
        return `undone: ${word('restored')} restored, ${word('refused')} not changed`
      default:
        return this.#step(run, event)
    }
  }

  #step(run: PrintedRun, { at, payload }: Event): string {
    const name = printable(String(payload['name'] ?? ''))
    switch (payload['kind']) {
      case 'begun':
        run.calls.set(name, at)
        return paint(this.#screen, 'cyan', name)
      case 'ended':
        return `${paint(this.#screen, 'cyan', name)} ended${formatElapsed(run.calls.get(name), at)}`
      case 'steer':
        return 'received your message'
      case 'reply':
        return 'replied'
      case 'compact':
        return 'earlier steps summarised'
      default:
        return printable(String(payload['kind'] ?? ''))
    }
  }

  #otherThanRun({ kind, payload }: Event): string {
    const word = (name: string) => printable(String(payload[name] ?? ''))
    const warning = (text: string) => paint(this.#screen, 'yellow', text)
    switch (kind) {
      case 'turn.added':
        return `added to ${word('session')}`
      case 'task.changed':
        return `${word('status')}, plan:${word('plan')}`
      case 'plan.changed':
        return word('status')
      case 'approval.asked':
        return warning(`needs your approval: ${word('tool')}`)
      case 'approval.answered':
        return payload['answer'] === 'no' ? 'denied' : 'approved'
      case 'grant.lapsed':
        return `grant ended: ${word('why')}`
      case 'sandbox.off':
        return warning('commands run without a sandbox')
      case 'memory.words_only':
        return warning(`by words only: ${word('message')}`)
      case 'memory.brought_back':
        return `restored memories that were replaced by mistake: ${word('count')}`
      default:
        return kind.slice(kind.indexOf('.') + 1)
    }
  }
}

/** Local time of day; a dash where the time was not recorded. */
export function clockTime(at: number): string {
  return Number.isNaN(at) ? '–'.padEnd(8) : new Date(at).toTimeString().slice(0, 8)
}

function placeOf({ payload: { session, parent } }: Event): string {
  const forWhom = parent === undefined ? '' : `, for run:${shortId(String(parent))}`
  return printable(`in ${session}${forWhom}`)
}

function formatElapsed(from: number | undefined, to: number): string {
  return from === undefined ? '' : ` after ${((to - from) / 1000).toFixed(1)}s`
}
