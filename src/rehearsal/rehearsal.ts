import type { Clock, Millis } from '../domain/clock.ts'
import type { Model, ModelReply } from '../domain/model.ts'
import { noUsage } from '../domain/turn.ts'
import { addLabel } from './label.ts'
import { playStep } from './play.ts'
import { coordinatorPieces, repertoire } from './repertoire.ts'
import { readRequest } from './script-view.ts'

export const rehearsalName = 'rehearsal'
const window = 200_000

interface RehearsalSettings {
  clock: Clock
  /** Duration of each step, so that people can watch; default: no delay. */
  pace?: { shortest: Millis; longest: Millis }
}

/**
 * A script that stands in for a model when none is configured. It gets only what a provider would get, runs its repertoire
 * with real tools on real files, and refuses everything else. It counts and quotes; it does not judge. It is never a
 * fallback for a model that fails.
 */
export function rehearsalModel({ clock, pace }: RehearsalSettings): Model {
  let steps = 0
  const pause = async (signal: AbortSignal) => {
    if (!pace) return
    // Uneven but deterministic.
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
      const view = readRequest(request)
      const step = playStep(view)
      await pause(signal)
      signal.throwIfAborted()
      const text = step.text ? addLabel(step.text) : ''
      for (const piece of text.split(/(?<=\n)/)) {
        if (piece !== '') onDelta({ kind: 'text', text: piece })
        if (pace && piece !== '') await clock.sleep(pace.shortest / 4, signal)
      }
      const calls = 'calls' in step ? step.calls : []
      signal.throwIfAborted()
      // Call ids must be unique within a run.
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

/** Abilities of the script, for programs. */
export function rehearsalPieces(): { name: string; example: string; does: string }[] {
  return [...repertoire, ...coordinatorPieces].map(({ name, example, does }) => ({ name, example, does }))
}

/** Abilities of the script, for people. */
export function describeRehearsal(): string {
  return [
    'demo mode (rehearsal): a script plays the agents with real tools on your files; no key, no network.',
    'It counts and quotes, nothing more. It can:',
    ...repertoire.map(line),
    'As the coordinator it delegates these to agents. About their plans you can say:',
    ...coordinatorPieces.map(line),
    'It refuses everything else. It answers only while no model is configured, never in place of one that fails.',
  ].join('\n')
}

function line({ example, does }: { example: string; does: string }): string {
  return `  ${example.padEnd(32)} ${does}`
}
