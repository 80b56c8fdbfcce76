import { parseWorkOrder, researchIn } from '../order.ts'
import { answerTo, type ScriptStep, type ScriptView } from '../script-view.ts'
import { formatCount, todoMarker } from '../survey/format-count.ts'
import { partName } from '../survey/part.ts'
import { readPartsSurvey, type SurveyedPart } from '../survey/survey-parts.ts'
import { reasonIn } from '../tool-texts.ts'
import { agentNamesIn } from './agents.ts'
import { parseDroppedParts } from './dropped-parts.ts'

/** Brief line of a task that should fail. */
export const failLine = 'Fail on request: the user wants to see what a failed task looks like.'

const maxGoalLength = 4000

/** A task in the input of `plan_tasks`. */
interface PartTask {
  key: string
  title: string
  context: string
  skill: string
  depends_on: string[]
}

/** Plans from a survey by parts: a task for each part, a report of all, and a check of the report. */
export function planParts(view: ScriptView): ScriptStep | undefined {
  const message = view.messages.findLast(({ role, content }) => role === 'user' && surveyIn(content))?.content
  const survey = message === undefined ? undefined : surveyIn(message)
  if (message === undefined || !survey) return undefined
  const { task } = parseWorkOrder(message)
  const rejection = /^The person said no to plan:(\d+): (.+)$/m.exec(message)
  const { parts, missing } = without(survey.parts, rejection?.[2])
  if (missing.length > 0)
    return { text: `I made no plan: there is no part "${missing.join('", "')}". There are: ${names(survey.parts)}` }
  if (parts.length === 0) return { text: 'I made no plan: no part is left to report on.' }
  const agents = agentNamesIn(view.system)
  if (!agents.includes('researcher'))
    return { text: 'I made no plan: there is no agent "researcher" to count the parts. Add one: heddle agents new' }
  const wanted = failuresIn(task)
  const tasks = withFailures(tasksFor({ ...survey, parts }, agents), wanted)
  const input = {
    project: {
      ...(rejection && { id: Number(rejection[1]) }),
      title: `${survey.without} by ${formatCount(parts.length, 'part')}`,
      goal: task.replace(/^Plan this: /, '').slice(0, maxGoalLength),
    },
    tasks,
  }
  const answer = answerTo(view, 'plan_tasks', input)
  return answer === undefined
    ? { calls: [{ name: 'plan_tasks', input }] }
    : { text: describePlan(answer, tasks, parts, wanted) }
}

function surveyIn(message: string): ReturnType<typeof readPartsSurvey> | undefined {
  const surveys = researchIn(message).map(({ output }) => readPartsSurvey(output))
  return surveys.findLast(({ parts }) => parts.length > 0)
}

function without(
  parts: SurveyedPart[],
  rejection: string | undefined,
): { parts: (SurveyedPart & { number: number })[]; missing: string[] } {
  const numbered = parts.map((part, at) => ({ ...part, number: at + 1 }))
  if (rejection === undefined) return { parts: numbered, missing: [] }
  const isSamePart = (part: SurveyedPart & { number: number }, word: string) =>
    partName(part) === word.replace(/(?<=.)\/$/, '') || String(part.number) === word
  const words = parseDroppedParts(rejection)
  return {
    parts: numbered.filter((part) => !words.some((word) => isSamePart(part, word))),
    missing: words.filter((word) => !numbered.some((part) => isSamePart(part, word))),
  }
}

interface NumberedSurvey {
  parts: (SurveyedPart & { number: number })[]
  without: string
  gaps: string[]
}

const briefRules = [
  'Rules: every number and quote comes from a tool answer of this task; quotes carry path:line; no judgement;',
  'what cannot be counted is named with the reason.',
]

function tasksFor({ parts, without, gaps }: NumberedSurvey, agents: string[]): PartTask[] {
  const counting = parts.map((part): PartTask => {
    const name = partName(part)
    return {
      key: `part-${part.number}`,
      title: `summarise ${name}`,
      skill: 'researcher',
      depends_on: [],
      context: [
        `Part: ${name}`,
        `Path: ${part.path}${part.isFlat ? ' (only the files directly in it)' : ' (with everything below it)'}`,
        `Seen by the survey: ${part.found}`,
        `Count its files, their lines, the lines that begin with "export" and the lines with ${todoMarker}.`,
        `Leave out: ${without} (the report itself)`,
        ...briefRules,
        `Done when: the first line reads "${name}: N files, N lines, N exports, N ${todoMarker}."`,
      ].join('\n'),
    }
  })
  if (!agents.includes('writer')) return counting
  const writing: PartTask = {
    key: 'report',
    title: `write ${without}`,
    skill: 'writer',
    depends_on: counting.map(({ key }) => key),
    context: [
      `File: ${without}`,
      'Parts, in this order:',
      ...parts.map((part) => `- ${partName(part)}`),
      ...gaps.map((gap) => `Say also: ${gap}`),
      'Take every number and quote from the results of the tasks before, exactly as it stands there, with its source.',
      'A part whose task failed or has no result is named as missing.',
      `Done when: ${without} has a section for each part, and its last line says who wrote it.`,
    ].join('\n'),
  }
  if (!agents.includes('code-review')) return [...counting, writing]
  const checking: PartTask = {
    key: 'check',
    title: 'check every number',
    skill: 'code-review',
    depends_on: [writing.key],
    context: [
      `Report: ${without}`,
      `Leave out: ${without} (it was not there when the parts were counted)`,
      'Read the report, and count each of its numbers again from the files with tools of your own.',
      ...briefRules,
      'Done when: it is said how many numbers were counted again and how many agree, and both values of each that does not.',
    ].join('\n'),
  }
  return [...counting, writing, checking]
}

/** Positions of the tasks that the user wants to see fail. */
function failuresIn(task: string): number[] {
  return [...task.matchAll(/\blet task:?\s?(\d+) fail\b/gi)].map(([, number]) => Number(number))
}

function withFailures(tasks: PartTask[], failing: number[]): PartTask[] {
  return tasks.map((task, at) =>
    failing.includes(at + 1) ? { ...task, context: `${task.context}\n${failLine}` } : task,
  )
}

function describePlan(answer: string, tasks: PartTask[], parts: SurveyedPart[], failing: number[]): string {
  const made = readPlan(answer)
  if (!made) return `I made no plan, plan_tasks refused it: ${problemsIn(answer)}`
  const ids = new Map(made.tasks.map(({ key, id }) => [key, id]))
  return [
    `plan:${made.project_id}: ${formatCount(tasks.length, 'task')} for ${formatCount(parts.length, 'part')}.`,
    '',
    ...tasks.map(({ key, title, skill }) => `task:${ids.get(key) ?? '?'} ${title} @${skill}`),
    ...failing.map((number) => {
      const task = tasks[number - 1]
      return task
        ? `task:${ids.get(task.key) ?? '?'} is to fail on request`
        : `there is no task ${number} that could fail`
    }),
  ].join('\n')
}

function readPlan(answer: string): { project_id: number; tasks: { key: string; id: number }[] } | undefined {
  try {
    const { project_id, tasks } = JSON.parse(answer) as { project_id?: unknown; tasks?: unknown }
    if (typeof project_id !== 'number' || !Array.isArray(tasks)) return undefined
    return { project_id, tasks: tasks as { key: string; id: number }[] }
  } catch {
    return undefined
  }
}

function problemsIn(answer: string): string {
  try {
    const { problems } = JSON.parse(answer) as { problems?: unknown }
    return Array.isArray(problems) ? problems.join('; ') : reasonIn(answer)
  } catch {
    return answer
  }
}

function names(parts: SurveyedPart[]): string {
  return parts.map(partName).join(', ')
}
