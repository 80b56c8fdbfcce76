import { coordinate } from './coordinate.ts'
import { failOnRequest } from './fail.ts'
import { isNarrator, narrate } from './narrate.ts'
import { failLine, planParts } from './plan-parts.ts'
import { pieceFor, refusal } from './repertoire.ts'
import type { Seen, Step } from './seen.ts'
import { showWiring } from './wiring.ts'

/** Plays whoever is asked: the tools and the first line of the prompt tell who that is. */
export function play(seen: Seen): Step {
  if (isNarrator(seen)) return narrate(seen)
  if (seen.tools.has('spawn_agent')) return coordinate(seen)
  if (seen.brief.split('\n').includes(failLine)) failOnRequest()
  const planned = seen.tools.has('plan_tasks') ? planParts(seen) : undefined
  return planned ?? work(seen)
}

function work(seen: Seen): Step {
  const found = pieceFor(seen.asked)
  const agent = /^You are @([\w.-]+), an agent of heddle\./.exec(seen.system)?.[1]
  if (!found) return agent === undefined ? { text: refusal() } : showWiring(seen, agent)
  const { piece, heard } = found
  const missing = piece.needs.filter((name) => !seen.tools.has(name))
  if (missing.length > 0) return { text: `I cannot ${piece.name} here: there is no ${missing.join(' and no ')}.` }
  const step = piece.plays(seen, heard)
  return agent === undefined || 'calls' in step ? step : { text: summaryFirst(step.text) }
}

/** Whoever started an agent hears its first paragraph: that is its first line, and what it quotes comes after. */
function summaryFirst(text: string): string {
  const [first = '', ...rest] = text.split('\n')
  return rest.length === 0 || rest[0] === '' ? text : [first, '', ...rest].join('\n')
}
