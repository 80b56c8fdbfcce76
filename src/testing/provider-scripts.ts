import type { ProviderAnswer, ProviderRequest } from './provider-wire.ts'

/** How a provider answers: depends on nothing but the request, so that a request sent again gets the same answer. */
export type ProviderRule = (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>

/** One line of a rules file: the first whose `when` is part of the last user text answers. */
export interface WrittenRule {
  when?: string
  /** Answers only attempts below this number; later ones go to the next rule. */
  attempts?: number
  /** Answers only after tools have answered, or only before. */
  after?: 'tools' | 'user'
  answer: ProviderAnswer
}

/** Says back what was asked. */
export function answerPlainly(request: ProviderRequest): ProviderAnswer {
  return { text: `answer to: ${lastUserText(request)}` }
}

/**
 * Calls what the user names, `call a({"x":1}) and b({})`, all at once; `then` begins another round. When nothing is left
 * to call it answers with what the tools said.
 */
export function callTools(request: ProviderRequest): ProviderAnswer {
  const since = sinceLastUser(request)
  const roundsDone = since.filter(({ calls }) => calls.length > 0).length
  const rounds = lastUserText(request)
    .split(/\bthen\b/)
    .map(callsIn)
    .filter(({ length }) => length > 0)
  const round = rounds[roundsDone]
  if (round) {
    const earlier = request.messages.reduce((sum, { calls }) => sum + calls.length, 0)
    return { calls: round.map((call, i) => ({ id: `call_${earlier + i + 1}`, ...call })) }
  }
  if (rounds.length === 0) return answerPlainly(request)
  const names = new Map(since.flatMap(({ calls }) => calls).map(({ id, name }) => [id, name]))
  const results = since.filter(({ role }) => role === 'tool')
  return {
    text: `results: ${results.map((result) => `${names.get(result.callId ?? '')}: ${result.content}`).join('; ')}`,
  }
}

/** Fails the first attempts at each user text, then answers. */
export function failThenAnswer(failures: number): ProviderRule {
  return (request) => (request.attempt < failures ? { faults: { status: { code: 503 } } } : callTools(request))
}

/** Rules that a file can hold; what none of them answers is answered plainly. */
export function followRules(rules: readonly WrittenRule[]): ProviderRule {
  return (request) => {
    const asked = lastUserText(request)
    const place = request.messages.at(-1)?.role === 'tool' ? 'tools' : 'user'
    const rule = rules.find(
      ({ when = '', after = place, attempts = Number.POSITIVE_INFINITY }) =>
        asked.includes(when) && after === place && request.attempt < attempts,
    )
    return rule?.answer ?? answerPlainly(request)
  }
}

/** A script by its name: `plain`, `tools`, `fail-then-answer` or `fail-then-answer:5`. */
export function scriptNamed(name: string): ProviderRule | undefined {
  if (name === 'plain') return answerPlainly
  if (name === 'tools') return callTools
  const [head, failures = '2'] = name.split(':')
  return head === 'fail-then-answer' && /^\d+$/.test(failures) ? failThenAnswer(Number(failures)) : undefined
}

export function lastUserText({ messages }: Pick<ProviderRequest, 'messages'>): string {
  return messages.findLast(({ role }) => role === 'user')?.content ?? ''
}

function sinceLastUser({ messages }: ProviderRequest): ProviderRequest['messages'] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
}

/** Every `name({…})` in a text. */
function callsIn(text: string): { name: string; input: unknown }[] {
  return [...text.matchAll(/([A-Za-z_][\w-]*)\(/g)].flatMap(({ 1: name = '', index, 0: head }) => {
    const input = jsonAt(text, index + head.length)
    return input === undefined ? [] : [{ name, input }]
  })
}

/** The JSON between here and the first closing bracket that makes it whole. */
function jsonAt(text: string, from: number): unknown {
  for (let end = text.indexOf(')', from); end !== -1; end = text.indexOf(')', end + 1)) {
    const inside = text.slice(from, end).trim()
    if (inside === '') return {}
    try {
      return JSON.parse(inside)
    } catch {
      // A bracket inside a string: look for the next one.
    }
  }
  return undefined
}
