import { presentResults } from './delegate.ts'
import { failOnRequest } from './fail.ts'
import { isNarrator, narrate } from './narrate.ts'
import { stillNotStarted } from './not-started.ts'
import { coordinate } from './plan/coordinate.ts'
import { failLine, planParts } from './plan/plan-parts.ts'
import { findPiece, refusalText } from './repertoire.ts'
import type { ScriptStep, ScriptView } from './script-view.ts'
import { presentAnnouncements } from './subagents.ts'
import { showWiring } from './unknown-agent.ts'

/** Plays the agent of the request, recognized by its tools and the first line of its prompt. */
export function playStep(view: ScriptView): ScriptStep {
  if (isNarrator(view)) return narrate(view)
  if (view.tools.has('spawn_agent')) return coordinate(view)
  if (view.brief.split('\n').includes(failLine)) failOnRequest()
  const planned = view.tools.has('plan_tasks') ? planParts(view) : undefined
  return planned ?? answerAnnouncements(view) ?? work(view)
}

/** Presents results of sub-agents, and goes on with what a user said in the same turn. */
function answerAnnouncements(view: ScriptView): ScriptStep | undefined {
  const news = presentAnnouncements(view) ?? presentResults(view)
  if (news === undefined) return undefined
  const presented = [news, ...stillNotStarted(view.messages)].join('\n')
  if (!view.isAsked) return { text: presented }
  const step = work(view)
  return 'calls' in step ? step : { text: `${presented}\n\n${step.text}` }
}

function work(view: ScriptView): ScriptStep {
  const found = findPiece(view.task)
  const agent = /^You are @([\w.-]+), an agent of heddle\./.exec(view.system)?.[1]
  if (!found) return agent === undefined ? { text: refusalText() } : showWiring(view, agent)
  const { piece, match } = found
  const missing = piece.needs.filter((name) => !view.tools.has(name))
  if (missing.length > 0) return { text: `I cannot ${piece.name} here: there is no ${missing.join(' and no ')}.` }
  const step = piece.run(view, match)
  return agent === undefined || 'calls' in step ? step : { text: summaryFirst(step.text) }
}

/** Separates the first line: the requester gets only the first paragraph of a result. */
function summaryFirst(text: string): string {
  const [first = '', ...rest] = text.split('\n')
  return rest.length === 0 || rest[0] === '' ? text : [first, '', ...rest].join('\n')
}
