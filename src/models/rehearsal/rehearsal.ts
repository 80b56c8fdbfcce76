import type { Clock, Millis } from '../../domain/clock.ts'
import type { Model, ModelReply } from '../../domain/model.ts'
import { noUsage } from '../../domain/turn.ts'
import { pieceFor, repertoire } from './repertoire.ts'
import { readRequest, type Seen, type Step } from './seen.ts'

export const rehearsalName = 'rehearsal'
const window = 200_000
const label = 'REHEARSAL: '

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
    async reply(request, onDelta) {
      const { signal } = request
      signal.throwIfAborted()
      const seen = readRequest(request)
      const step = play(seen)
      await pause(signal)
      signal.throwIfAborted()
      if ('calls' in step) {
        const calls = step.calls.map((call, at) => ({ id: `r${seen.answers.length + at + 1}`, ...call }))
        return reply('', calls)
      }
      const text = `${label}${step.text}`
      for (const piece of text.split(/(?<=\n)/)) {
        onDelta({ kind: 'text', text: piece })
        if (pace) await clock.sleep(pace.shortest / 4, signal)
      }
      signal.throwIfAborted()
      return reply(text, [])
    },
  }
}

function play(seen: Seen): Step {
  const found = pieceFor(seen.asked)
  if (!found) return { text: refusal() }
  const { piece, heard } = found
  const missing = piece.needs.filter((name) => !seen.tools.has(name))
  if (missing.length > 0) return { text: `I cannot ${piece.name} here: there is no ${missing.join(' and no ')}.` }
  return piece.plays(seen, heard)
}

function refusal(): string {
  const names = repertoire.map(({ example }) => example).join(' · ')
  return `I am a script and cannot do that; a real model can: heddle models add. I can: ${names}`
}

function reply(text: string, calls: ModelReply['calls']): ModelReply {
  return { text, calls, finish: calls.length > 0 ? 'calls' : 'stop', usage: noUsage, model: rehearsalName }
}

/** What the stand-in can do, for programs. */
export function rehearsalPieces(): { name: string; example: string; does: string }[] {
  return repertoire.map(({ name, example, does }) => ({ name, example, does }))
}

/** The same for people. */
export function describeRehearsal(): string {
  return [
    'rehearsal: a script that plays the agents with real tools on real files, without a key and without a network.',
    'It counts and quotes; it does not understand. It can:',
    ...repertoire.map(({ example, does }) => `  ${example.padEnd(28)} ${does}`),
    'Everything else it refuses. It stands in only while no model is configured, and never for one that fails.',
  ].join('\n')
}
