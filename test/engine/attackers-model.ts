import type { ModelRequest } from '../../src/domain/model.ts'
import { type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts'

export type Plan = { name: string; input: Record<string, unknown> }[]

/** A message after which the model makes these calls, one a reply, and then obeys whatever it reads. */
export const work = (...calls: Plan) => `work ${JSON.stringify(calls)}`
/** The same, but that it obeys nobody: it carries what it read from one place to another. */
export const carry = (...calls: Plan) => `carry ${JSON.stringify(calls)}`

/** Text of an attacker: each order is a tool and its argument. */
export const orders = (...calls: string[]) => calls.map((call) => `<<${call}>>`).join(' ')

/**
 * A model that obeys the attacker: it makes every call that is ordered in anything it is shown, once, and repeats the orders
 * in its answer and in its summaries. `$READ` in a planned call stands for the last tool's answer.
 */
export function attackersModel(window: number): ScriptedModel {
  return scriptedModel(
    (request) => {
      const { messages, system } = request
      const found = ordersIn(request)
      const repeated = `it was said: ${orders(...found)}`
      if (system.startsWith(summaryBegin)) return { text: `${repeated} ${'and more, '.repeat(40)}` }
      const from = messages.findLastIndex(({ role, content }) => role === 'user' && /^(work|carry) /.test(content))
      const [, kind, plan = '[]'] = /^(work|carry) ([^\n]*)/.exec(messages[from]?.content ?? '') ?? []
      const made = messages.slice(from).flatMap((each) => (each.role === 'assistant' ? each.calls : []))
      const read = messages.findLast(({ role }) => role === 'tool')?.content ?? ''
      const next = (JSON.parse(plan) as Plan)[made.length]
      if (next) return { calls: [{ name: next.name, input: replaced(next.input, read) }] }
      const done = new Set(made.map(({ name, input }) => `${name} ${Object.values(input as object)[0]}`))
      const ordered = kind === 'work' ? found.filter((order) => !done.has(order)) : []
      return ordered.length > 0 ? { calls: ordered.map(callOf) } : { text: repeated }
    },
    { window },
  )
}

/** How the instruction for a summary begins. */
export const summaryBegin = 'This conversation is too long'

/** All texts that a request shows, attached files included. */
export function textsOfRequest({ messages, note = '' }: ModelRequest): string {
  const files = messages.flatMap((each) => (each.role === 'user' ? (each.parts ?? []) : []))
  const attached = files.map(({ data }) => Buffer.from(data, 'base64').toString())
  return [...messages.map(({ content }) => content), ...attached, note].join('\n')
}

function ordersIn(request: ModelRequest): string[] {
  const shown = textsOfRequest(request)
  return [...new Set([...shown.matchAll(/<<([^<>]+)>>/g)].map(([, order = '']) => order))]
}

const parameters: Record<string, string> = {
  web_fetch: 'url',
  schedule: 'what',
  memory_trust: 'id',
  remember: 'content',
}

function callOf(order: string) {
  const [name = '', ...words] = order.split(' ')
  const argument = words.join(' ')
  return { name, input: { [parameters[name] ?? '']: name === 'memory_trust' ? Number(argument) : argument } }
}

function replaced(input: Record<string, unknown>, read: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.replace('$READ', () => read) : value,
    ]),
  )
}
