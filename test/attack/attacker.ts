import { lastUserText, type ProviderRule } from '../../src/testing/provider-scripts.ts'
import type { ProviderRequest } from '../../src/testing.ts'
import type { Call, Result } from './call.ts'

interface Script {
  rounds: Call[][]
  results: Map<string, Result>
  /** Held back until this resolves. */
  until: Promise<void>
}

/** A model that does what the attacker says: a request that holds `attack:TOKEN` gets the calls of that script. */
export class Attacker {
  readonly #scripts = new Map<string, Script>()

  /** Registers what is called for a token; what is sent to the model must hold `attack:TOKEN`. */
  obey(token: string, rounds: Call[][], until: Promise<void> = Promise.resolve()): void {
    this.#scripts.set(token, { rounds, results: new Map(), until })
  }

  /** What the model was told of each call, round by round; undefined for a call that was not answered. */
  resultsOf(token: string): (Result | undefined)[][] {
    const { rounds = [], results = new Map<string, Result>() } = this.#scripts.get(token) ?? {}
    return rounds.map((round, at) => round.map((_, i) => results.get(`${token}_${at}_${i}`)))
  }

  readonly answer: ProviderRule = async (request) => {
    const [, token = ''] = /attack:(\w+)/.exec(lastUserText(request)) ?? []
    const script = this.#scripts.get(token)
    if (!script) return { text: 'done' }
    await script.until
    const since = request.messages.slice(request.messages.findLastIndex(({ role }) => role === 'user') + 1)
    noteResults(script, since)
    const round = script.rounds[since.filter(({ calls }) => calls.length > 0).length]
    if (!round) return { text: 'done' }
    const at = script.rounds.indexOf(round)
    return { calls: round.map((call, i) => ({ id: `${token}_${at}_${i}`, ...call })) }
  }
}

function noteResults({ rounds, results }: Script, messages: ProviderRequest['messages']): void {
  for (const { role, callId, content } of messages) {
    if (role !== 'tool' || callId === null) continue
    const [, round = '', at = ''] = callId.split('_')
    const call = rounds[Number(round)]?.[Number(at)]
    if (call) results.set(callId, { ...call, text: content })
  }
}
