import type { Clock, Millis } from '../../domain/clock.ts'
import type { Model, ModelReply } from '../../domain/model.ts'
import { noUsage } from '../../domain/turn.ts'
import { labelled } from './label.ts'
import { play } from './play.ts'
import { decisions, repertoire } from './repertoire.ts'
import { readRequest } from './seen.ts'

export const rehearsalName = 'rehearsal'
const window = 200_000

export interface RehearsalSettings {
  clock: Clock
  /** How long each step takes, so that people can watch; at once if left out. */
  pace?: { shortest: Millis; longest: Millis }
}

/**
 * A script that stands in for a model when none is configured. It sees what a provider would see and nothing else, does
 * what its repertoire says with real tools on real files, and refuses everything else. It counts and quotes; it does not
 * judge. It is never a fallback for a model that fails.
 */
export function rehearsal({ clock, pace }: RehearsalSettings): Model {
  let steps = 0
  const pause = async (signal: AbortSignal) => {
    if (!pace) return
    // Uneven, as work is, and the same every time.
    const part = ((steps++ * 7) % 10) / 9
    await clock.sleep(pace.shortest + (pace.longest - pace.shortest) * part, signal)
  }
  return {
    name: rehearsalName,
    window,
    price: { input: 0, output: 0 },
    costsNothing: true,
    async reply(request, onDelta) {
      const { signal } = request
      signal.throwIfAborted()
      const seen = readRequest(request)
      const step = play(seen)
      await pause(signal)
      signal.throwIfAborted()
      const text = step.text ? labelled(step.text) : ''
      for (const piece of text.split(/(?<=\n)/)) {
        if (piece !== '') onDelta({ kind: 'text', text: piece })
        if (pace && piece !== '') await clock.sleep(pace.shortest / 4, signal)
      }
      const calls = 'calls' in step ? step.calls : []
      signal.throwIfAborted()
      // Answers come back under these names, so no two of a run may be the same.
      const answered = request.messages.filter(({ role }) => role === 'tool').length
      return reply(
        text,
        calls.map((call, at) => ({ id: `r${answered + at + 1}`, ...call })),
      )
    },
  }
}

function reply(text: string, calls: ModelReply['calls']): ModelReply {
  return { text, calls, finish: calls.length > 0 ? 'calls' : 'stop', usage: noUsage, model: rehearsalName }
}

/** What the stand-in can do, for programs. */
export function rehearsalPieces(): { name: string; example: string; does: string }[] {
  return [...repertoire, ...decisions].map(({ name, example, does }) => ({ name, example, does }))
}

/** The same for people. */
export function describeRehearsal(): string {
  return [
    'rehearsal: a script that plays the agents with real tools on real files, without a key and without a network.',
    'It counts and quotes; it does not understand. It can:',
    ...repertoire.map(line),
    'As the coordinator it gives these to agents. About their plans you can say:',
    ...decisions.map(line),
    'Everything else it refuses. It stands in only while no model is configured, and never for one that fails.',
  ].join('\n')
}

function line({ example, does }: { example: string; does: string }): string {
  return `  ${example.padEnd(32)} ${does}`
}
