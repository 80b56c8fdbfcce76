import { wordOrders, wordsIn } from '../text/words.ts'

/** An agent with the words by which messages go to it. */
interface RoutableAgent {
  name: string
  /** Of its entry in the registry. */
  tags: readonly string[]
  /** Of its file. */
  triggers: readonly string[]
}

/** The agent that the words of a message choose, and by which of them. */
interface AgentRoute {
  agent: string
  why: string
}

/**
 * Chooses an agent by the tags and triggers that a message contains as whole words, without a model. The agent with the
 * most words of them counts; undefined if there is none, or if two are equal: in doubt a model decides.
 */
export function routeToAgent(message: string, agents: readonly RoutableAgent[]): AgentRoute | undefined {
  const orders = wordOrders(message)
  const has = (phrase: string) => wordOrders(phrase).some((words, at) => orders[at]?.includes(words))
  const scored = agents.flatMap(({ name, tags, triggers }) => {
    const found = [
      ...tags.map((words) => ({ kind: 'tag', words })),
      ...triggers.map((words) => ({ kind: 'trigger', words })),
    ].flatMap((each) => {
      const count = wordsIn(each.words.toLowerCase()).length
      return count > 0 && has(each.words) ? [{ ...each, count }] : []
    })
    const score = found.reduce((sum, { count }) => sum + count, 0)
    return score > 0 ? [{ name, score, found }] : []
  })
  const [best, second] = scored.toSorted((a, b) => b.score - a.score)
  if (!best || best.score === second?.score) return undefined
  const words = best.found.map(({ kind, words }) => `its ${kind} "${words}"`).join(' and ')
  return { agent: best.name, why: `the message has ${words}` }
}
