import { agentsIn } from './agents.ts'
import { count } from './counted.ts'
import { decideTask, hearsDecision, updatesFrom } from './decide-task.ts'
import { droppedIn } from './dropped.ts'
import { type Piece, pieceFor, refusal } from './repertoire.ts'
import type { Call, Seen, Step } from './seen.ts'
import { isPartsSurvey } from './survey-parts.ts'
import { type Heard, type HeardResult, newsIn, planIn, readTalk, refusalIn, type Talk } from './talk.ts'
import { planEnded, taskEnded } from './tell-plan.ts'
import { reportPath } from './write.ts'

/** What one thing that was heard leads to. */
interface Move {
  calls: Call[]
  text: string
}

/** Plays the coordinator: it hands out work, and tells what came back. It has no tool that does anything itself. */
export function coordinate(seen: Seen): Step {
  const talk = readTalk(seen.messages)
  const moves =
    talk.made.length === 0 ? talk.now.flatMap((heard) => moveFor(heard, seen, talk)) : afterCalls(seen, talk)
  const calls = moves.flatMap((move) => move.calls)
  const texts = [...new Set(moves.map(({ text }) => text))].filter((text) => text !== '')
  const text = texts.join('\n')
  // Waiting in the same reply ends the turn with these words: one request for each thing that is begun.
  const isBegun = calls.some(({ name }) => name === 'spawn_agent' || name === 'run_project')
  if (calls.length === 0) return { text: text || 'nothing is left to do.' }
  return { text, calls: [...calls, ...(isBegun ? [{ name: 'wait', input: {} }] : [])] }
}

function moveFor(heard: Heard, seen: Seen, talk: Talk): Move[] {
  switch (heard.kind) {
    case 'person':
      return [answer(heard.text, seen, talk)]
    case 'result':
      return [heard.task ? said(isPlanTold(talk) ? '' : taskEnded(heard)) : goOn(heard, seen, talk)]
    case 'plan':
      return [said(planEnded(heard, talk))]
    case 'join':
      return []
  }
}

/** Where the end of a plan is told, its tasks are told with it. */
function isPlanTold({ now }: Talk): boolean {
  return now.some(({ kind }) => kind === 'plan')
}

function answer(asked: string, seen: Seen, talk: Talk): Move {
  const decision = hearsDecision(asked)
  if (decision) return decideTask(decision, talk)
  const survey = surveyHeard(talk)
  const plan = lastPlan(talk)
  if (survey && plan && droppedIn(asked).length > 0) return replan(asked, plan.id, seen, talk)
  const found = pieceFor(asked)
  if (!found) return said(refusal())
  const { piece, heard } = found
  if (piece.by.length === 0) {
    const step = piece.plays(seen, heard)
    return 'calls' in step ? { calls: step.calls, text: '' } : said(step.text)
  }
  return piece.name === 'report' ? beginReport(asked, seen) : delegate(asked, piece, seen)
}

/** One small piece of work goes to one agent. */
function delegate(asked: string, { by }: Piece, { system }: Seen): Move {
  const skill = by.find((name) => agentsIn(system).includes(name))
  if (skill === undefined) return said(missing(by))
  return { calls: [spawn({ task: asked, skill })], text: `@${skill} is at it: ${asked}` }
}

function beginReport(asked: string, { system }: Seen): Move {
  const needed = ['researcher', 'project-planner'].find((name) => !agentsIn(system).includes(name))
  if (needed !== undefined) return said(missing([needed]))
  const context = `The person asked: ${asked}\nGive each part with its exact path and number of files: a planner makes a task of each.`
  const task = `survey this folder by parts; leave out ${reportPath(asked)}`
  return {
    calls: [spawn({ task, skill: 'researcher', context })],
    text: '@researcher looks for the parts of this folder.',
  }
}

/** What follows from the result of an agent that was started alone. */
function goOn(result: HeardResult, seen: Seen, talk: Talk): Move {
  const { id, agent = 'agent', status, summary } = result
  if (status !== 'completed') return said(`@${agent} ${status}: ${summary} result:${id}`)
  const plan = planIn(summary)
  if (plan)
    return {
      calls: [{ name: 'run_project', input: { project_id: plan.id } }],
      text: `plan:${plan.id} has ${count(plan.tasks, 'task')}; I tell you when it has ended.`,
    }
  const goal = isPartsSurvey(summary) ? goalOf(talk) : undefined
  if (goal === undefined) return said(`${summary}\n@${agent}, all of it: heddle show result:${id}`)
  const context = `[agent_result:${id}]`
  return plannedBy(`Plan this: ${goal}`, context, seen, `${summary} result:${id}. @project-planner makes a plan of it.`)
}

function plannedBy(task: string, context: string, { system }: Seen, text: string): Move {
  if (!agentsIn(system).includes('project-planner')) return said(missing(['project-planner']))
  return { calls: [spawn({ task, skill: 'project-planner', context })], text }
}

/** The person does not want the plan as it is: what they want left out can be left out, anything else needs a mind. */
function replan(words: string, planId: number, seen: Seen, talk: Talk): Move {
  const [survey, goal] = [surveyHeard(talk), goalOf(talk)]
  if (!survey || goal === undefined || droppedIn(words).length === 0)
    return said(
      `you said no to plan:${planId}: ${words}\nNothing was started. I am a script: I can leave out a part (drop PART); for anything else a real model is needed: heddle models add`,
    )
  const context = `[agent_result:${survey.id}]\n\nThe person said no to plan:${planId}: ${words.replace(/\s+/g, ' ')}`
  return plannedBy(`Plan this: ${goal}`, context, seen, `you said: ${words}. @project-planner changes plan:${planId}.`)
}

/** Called again in the same turn: something was refused, or something was looked up. */
function afterCalls(seen: Seen, talk: Talk): Move[] {
  const own = talk.now.flatMap((heard) => (heard.kind === 'person' ? [pieceFor(heard.text)] : []))
  if (own.length > 0 && own.every((found) => found?.piece.by.length === 0))
    return talk.now.flatMap((heard) => moveFor(heard, seen, talk))
  const isMade = (name: string) => talk.made.some((call) => call.name === name)
  const moves = talk.made.flatMap(({ name, input, text }): Move[] => {
    const why = refusalIn(text)
    if (name === 'run_project' && why !== undefined && !isMade('spawn_agent'))
      return [saidNo(why, Number(input['project_id']), seen, talk)]
    const news = newsIn(text)
    if (news) return [said(planEnded(news, talk))]
    if (name === 'wait' || why === undefined) return []
    return [said(`${name} was refused: ${why}`)]
  })
  const decided = updatesFrom(talk)
  if (moves.length + decided.length > 0) return [...moves, ...decided]
  return [said('it is begun; I tell you when it has ended.')]
}

function saidNo(why: string, planId: number, seen: Seen, talk: Talk): Move {
  const no = /said no(?:: (.+))?$/s.exec(why)
  if (!no) return said(`plan:${planId} was not started: ${why}`)
  if (no[1] !== undefined) return replan(no[1], planId, seen, talk)
  return said(`you said no to plan:${planId}, so nothing was started. Say what to leave out: drop PART`)
}

/** The request that the survey by parts and its plan are for, in the person's words. */
function goalOf({ before, now }: Talk): string | undefined {
  const asked = [...before, ...now].flatMap((heard) => (heard.kind === 'person' ? [heard.text] : []))
  return asked.findLast((text) => pieceFor(text)?.piece.name === 'report')
}

function surveyHeard({ before, now }: Talk): HeardResult | undefined {
  return results([...before, ...now]).findLast(({ summary, task }) => !task && isPartsSurvey(summary))
}

function lastPlan({ before, now }: Talk): { id: number } | undefined {
  return results([...before, ...now])
    .map(({ summary }) => planIn(summary))
    .findLast((plan) => plan !== undefined)
}

function results(heard: Heard[]): HeardResult[] {
  return heard.flatMap((each) => (each.kind === 'result' ? [each] : []))
}

function spawn(input: { task: string; skill: string; context?: string }): Call {
  return { name: 'spawn_agent', input }
}

function missing(names: readonly string[]): string {
  const [first = ''] = names
  return `there is no agent "${names.join('" or "')}" here, and I do nothing myself. Add one: heddle agents new ${first}`
}

function said(text: string): Move {
  return { calls: [], text }
}
