import type { ProviderAnswer, ProviderRequest } from './provider-wire.ts'

/** Rule by which a provider answers. Depends only on the request, so that a repeated request gets the same answer. */
export type ProviderRule = (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>

/** One rule of a rules file: the first whose `when` is part of the last user text answers. */
export interface WrittenRule {
  when?: string
  /** Answers only this many attempts; later ones go to the next rule. */
  attempts?: number
  /** Answers only after tools have answered, or only before. */
  after?: 'tools' | 'user'
  answer: ProviderAnswer
}

/** Echoes the last user text. */
export function answerPlainly(request: ProviderRequest): ProviderAnswer {
  return { text: `answer to: ${lastUserText(request)}` }
}

/**
 * Makes the calls that the user text contains, `call a({"x":1}) and b({})`, all at once; `then` starts another round. At
 * the end it answers with the tool results.
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

/** Answers by rules of a file; `answerPlainly` is the fallback. */
export function followRules(rules: readonly WrittenRule[]): ProviderRule {
  return (request) => {
    const userText = lastUserText(request)
    const lastRole = request.messages.at(-1)?.role === 'tool' ? 'tools' : 'user'
    const rule = rules.find(
      ({ when = '', after = lastRole, attempts = Number.POSITIVE_INFINITY }) =>
        userText.includes(when) && after === lastRole && request.attempt < attempts,
    )
    return rule?.answer ?? answerPlainly(request)
  }
}

/** A script by its name: `plain`, `tools`, `fail-then-answer` or `fail-then-answer:5`. */
export function findScript(name: string): ProviderRule | undefined {
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

/** All `name({…})` in a text. */
function callsIn(text: string): { name: string; input: unknown }[] {
  return [...text.matchAll(/([A-Za-z_][\w-]*)\(/g)].flatMap(({ 1: name = '', index, 0: head }) => {
    const input = jsonAt(text, index + head.length)
    return input === undefined ? [] : [{ name, input }]
  })
}

/** Parses JSON up to the first closing bracket that completes it. */
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
