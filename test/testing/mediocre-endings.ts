import { type MediocreName, mediocreNames, mediocreRule, type ProviderRequest } from '../../src/testing.ts'

/** How a task ends that a mediocre model does, and what must be told of it. */
export const endings: Record<MediocreName, { status: 'completed' | 'failed'; says: RegExp }> = {
  'prose-planner': { status: 'completed', says: /^First I would look around/ },
  'half-json-caller': { status: 'completed', says: /^Part \d+\b.* is done\. I saw: / },
  looper: { status: 'failed', says: /^Failed: the model made the same call of \w+ 10 times in a row/ },
  liar: {
    status: 'completed',
    says: /^\[heddle: a claimed file does not exist: report-\d+\.md\] I did it all/,
  },
  silent: { status: 'failed', says: /^Failed: the agent ended without an answer/ },
  'over-long': {
    status: 'completed',
    says: /^\[heddle: cut off at the model's limit of output; no tool call in it was made\] And then there is one more thing/,
  },
  retrier: { status: 'failed', says: /^Failed: the model made the same call of \w+ 10 times in a row/ },
}

/** How a task ends, by the worker that its title names. */
export function endingOf(title: string): { status: 'completed' | 'failed'; says: RegExp } {
  const who = mediocreNames.find((name) => title.endsWith(` by the ${name}`))
  return who ? endings[who] : { status: 'completed', says: /^Part \d+ is done\. I saw: / }
}

/** A seed with which a planner that does not make its plan at once makes it when it is told to, or does not. */
export function seedFor(goal: string, who: MediocreName | undefined, makesPlan: boolean): number {
  const user = (content: string) => ({ role: 'user' as const, content, calls: [], callId: null })
  const messages = [user(goal), { ...user('So.'), role: 'assistant' as const }, user('You have not called plan_tasks')]
  const tools = [{ name: 'plan_tasks' }]
  const request: ProviderRequest = { wire: 'chat', model: 'm', messages, tools, maxTokens: null, attempt: 0 }
  const seeds = Array.from({ length: 100 }, (_, seed) => seed)
  const found = seeds.find((seed) => {
    const answer = mediocreRule({ ...(who && { who }), seed })(request)
    return (answer.calls !== undefined && answer.finish === undefined) === makesPlan
  })
  if (found === undefined) throw new Error(`no seed below 100 decides so for "${goal}"`)
  return found
}
