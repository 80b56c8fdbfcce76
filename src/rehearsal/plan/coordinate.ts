import { notStartedLine, stillNotStarted } from '../not-started.ts'
import { findPiece, refusalText, type Skill } from '../repertoire.ts'
import type { ScriptedCall, ScriptStep, ScriptView } from '../script-view.ts'
import { presentAnnouncements, tasksIn, tasksRequest } from '../subagents.ts'
import { formatCount } from '../survey/format-count.ts'
import { isPartsSurvey } from '../survey/survey-parts.ts'
import { reportPath } from '../write.ts'
import { agentNamesIn } from './agents.ts'
import { planIn, planNewsIn, type ResultItem, readTalk, refusalIn, type Talk, type TalkItem } from './conversation.ts'
import { decideTaskStep, parseDecision, updatesFrom } from './decide-task.ts'
import { describePlanEnd, describeTaskEnd } from './describe-plan.ts'
import { parseDroppedParts } from './dropped-parts.ts'

/** Calls and text in response to one item of the conversation. */
interface Move {
  calls: ScriptedCall[]
  text: string
}

/** Plays the coordinator: it delegates work and reports results. It has no tools that do work itself. */
export function coordinate(view: ScriptView): ScriptStep {
  const talk = readTalk(view.messages)
  const moves = talk.made.length === 0 ? talk.now.flatMap((item) => moveFor(item, view, talk)) : afterCalls(view, talk)
  const calls = moves.flatMap((move) => move.calls)
  const texts = [...new Set(moves.map(({ text }) => text))].filter((text) => text !== '')
  const text = texts.join('\n')
  if (calls.length === 0) {
    const said = text || (presentAnnouncements(view) ?? 'nothing is left to do.')
    return { text: [said, ...(talk.made.length === 0 ? stillNotStarted(view.messages) : [])].join('\n') }
  }
  // A wait in the same reply ends the turn with this text: saves a request. Of a list of tasks some may be refused.
  const starts = moves.map((move) => move.calls.filter(({ name }) => name === 'spawn_agent' || name === 'run_project'))
  const waits = starts.some(({ length }) => length === 1) && starts.every(({ length }) => length < 2)
  return { text, calls: [...calls, ...(waits ? [{ name: 'wait', input: {} }] : [])] }
}

function moveFor(item: TalkItem, view: ScriptView, talk: Talk): Move[] {
  switch (item.kind) {
    case 'person':
      return [moveForPrompt(item.text, view, talk)]
    case 'result':
      return [item.task ? textMove(hasPlanEnd(talk) ? '' : describeTaskEnd(item)) : continueAfter(item, view, talk)]
    case 'plan':
      return [textMove(describePlanEnd(item, talk))]
    case 'join':
      return []
  }
}

/** The end of a plan includes its tasks. */
function hasPlanEnd({ now }: Talk): boolean {
  return now.some(({ kind }) => kind === 'plan')
}

function moveForPrompt(prompt: string, view: ScriptView, talk: Talk): Move {
  const decision = parseDecision(prompt)
  if (decision) return decideTaskStep(decision, talk)
  const start = startRequest.exec(prompt)
  if (start) return runPlanMove(Number(start[1]))
  const survey = lastSurvey(talk)
  const plan = lastPlan(talk)
  if (survey && plan && parseDroppedParts(prompt).length > 0) return replan(prompt, plan.id, view, talk)
  const list = tasksRequest.exec(prompt)
  if (list) return mergeMoves(tasksIn(list).map((task) => moveForPrompt(task, view, talk)))
  const found = findPiece(prompt)
  if (!found) return textMove(refusalText())
  const { piece, match } = found
  if (piece.by.length === 0) {
    const step = piece.run(view, match)
    return 'calls' in step ? { calls: step.calls, text: '' } : textMove(step.text)
  }
  return piece.name === 'report' ? beginReport(prompt, view) : spawnMove(prompt, piece, view)
}

function mergeMoves(moves: Move[]): Move {
  return { calls: moves.flatMap(({ calls }) => calls), text: moves.map(({ text }) => text).join('\n') }
}

/** Delegates one piece of work to one agent. */
function spawnMove(prompt: string, { by }: Skill, { system }: ScriptView): Move {
  const skill = by.find((name) => agentNamesIn(system).includes(name))
  if (skill === undefined) return textMove(missing(by))
  const input = { task: prompt, skill }
  return { calls: [spawn(input)], text: workingOn(input) }
}

function workingOn({ skill, task }: { skill?: unknown; task?: unknown }): string {
  return `@${String(skill)} is working on it: ${String(task)}`
}

function beginReport(prompt: string, { system }: ScriptView): Move {
  const needed = ['researcher', 'project-planner'].find((name) => !agentNamesIn(system).includes(name))
  if (needed !== undefined) return textMove(missing([needed]))
  const context = `The person asked: ${prompt}\nGive each part with its exact path and number of files: a planner makes a task of each.`
  const task = `survey this folder by parts; leave out ${reportPath(prompt)}`
  return {
    calls: [spawn({ task, skill: 'researcher', context })],
    text: '@researcher looks for the parts of this folder.',
  }
}

/** Continues after the result of an agent that is not part of a plan. */
function continueAfter(result: ResultItem, view: ScriptView, talk: Talk): Move {
  const { id, agent = 'agent', status, summary } = result
  if (status !== 'completed') return textMove(`@${agent} ${status}: ${summary} result:${id}`)
  const plan = planIn(summary)
  if (plan) return runPlanMove(plan.id, `plan:${plan.id} has ${formatCount(plan.tasks, 'task')}; `)
  const goal = isPartsSurvey(summary) ? goalOf(talk) : undefined
  if (goal === undefined) return textMove(`${summary}\n@${agent}, full result: heddle show result:${id}`)
  const context = `[agent_result:${id}]`
  return spawnPlanner(
    `Plan this: ${goal}`,
    context,
    view,
    `${summary} result:${id}. @project-planner makes a plan of it.`,
  )
}

/** What the pages of plans say to send for one that was not started. */
const startRequest = /^\s*run plan[: ](\d+)[\s.!]*$/i

function runPlanMove(id: number, words = ''): Move {
  return {
    calls: [{ name: 'run_project', input: { project_id: id } }],
    text: `${words}I will tell you when ${words === '' ? `plan:${id}` : 'it'} ends.`,
  }
}

function spawnPlanner(task: string, context: string, { system }: ScriptView, text: string): Move {
  if (!agentNamesIn(system).includes('project-planner')) return textMove(missing(['project-planner']))
  return { calls: [spawn({ task, skill: 'project-planner', context })], text }
}

/** Replans after the user rejected a plan: the script can drop parts, nothing else. */
function replan(words: string, planId: number, view: ScriptView, talk: Talk): Move {
  const [survey, goal] = [lastSurvey(talk), goalOf(talk)]
  if (!survey || goal === undefined || parseDroppedParts(words).length === 0)
    return textMove(
      `you said no to plan:${planId}: ${words}\nNothing was started. I am a script: I can leave out a part (drop PART); for anything else a real model is needed: heddle models add`,
    )
  const context = `[agent_result:${survey.id}]\n\nThe person said no to plan:${planId}: ${words.replace(/\s+/g, ' ')}`
  return spawnPlanner(
    `Plan this: ${goal}`,
    context,
    view,
    `you said: ${words}. @project-planner changes plan:${planId}.`,
  )
}

/** Continues in the same turn after tool calls that were refused or looked something up. */
function afterCalls(view: ScriptView, talk: Talk): Move[] {
  const asked = talk.now.flatMap((item) => (item.kind === 'person' ? [item.text] : []))
  const isOwn = (text: string) => !tasksRequest.test(text) && findPiece(text)?.piece.by.length === 0
  if (asked.length > 0 && asked.every(isOwn)) return talk.now.flatMap((item) => moveFor(item, view, talk))
  const wasCalled = (name: string) => talk.made.some((call) => call.name === name)
  const moves = talk.made.flatMap(({ name, input, text }): Move[] => {
    const why = refusalIn(text)
    if (name === 'run_project' && why !== undefined && !wasCalled('spawn_agent'))
      return [afterRejection(why, Number(input['project_id']), view, talk)]
    const news = planNewsIn(text)
    if (news) return [textMove(describePlanEnd(news, talk))]
    if (name === 'spawn_agent' && 'task' in input)
      return [textMove(why === undefined ? workingOn(input) : notStartedLine(input['task'], why))]
    if (name === 'wait' || why === undefined) return []
    return [textMove(`${name} was refused: ${why}`)]
  })
  const decided = updatesFrom(talk)
  if (moves.length + decided.length > 0) return [...moves, ...decided]
  return [textMove('it has started; I will tell you when it ends.')]
}

function afterRejection(why: string, planId: number, view: ScriptView, talk: Talk): Move {
  const no = /said no(?:: (.+))?$/s.exec(why)
  if (!no) return textMove(`plan:${planId} was not started: ${why}`)
  if (no[1] !== undefined) return replan(no[1], planId, view, talk)
  return textMove(`you said no to plan:${planId}, so nothing was started. Say what to leave out: drop PART`)
}

/** The user's request that the survey by parts and its plan are for. */
function goalOf({ before, now }: Talk): string | undefined {
  const prompt = [...before, ...now].flatMap((item) => (item.kind === 'person' ? [item.text] : []))
  return prompt.findLast((text) => findPiece(text)?.piece.name === 'report')
}

function lastSurvey({ before, now }: Talk): ResultItem | undefined {
  return results([...before, ...now]).findLast(({ summary, task }) => !task && isPartsSurvey(summary))
}

function lastPlan({ before, now }: Talk): { id: number } | undefined {
  return results([...before, ...now])
    .map(({ summary }) => planIn(summary))
    .findLast((plan) => plan !== undefined)
}

function results(item: TalkItem[]): ResultItem[] {
  return item.flatMap((each) => (each.kind === 'result' ? [each] : []))
}

function spawn(input: { task: string; skill: string; context?: string }): ScriptedCall {
  return { name: 'spawn_agent', input }
}

function missing(names: readonly string[]): string {
  const [first = ''] = names
  return `there is no agent "${names.join('" or "')}" here, and I do nothing myself. Add one: heddle agents new ${first}`
}

function textMove(text: string): Move {
  return { calls: [], text }
}
