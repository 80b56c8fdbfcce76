import { agentsIn } from './agents.ts'
import { count, leftToDo } from './counted.ts'
import { droppedIn } from './dropped.ts'
import { readOrder, researchIn } from './order.ts'
import { nameOf } from './part.ts'
import { answerTo, type Seen, type Step } from './seen.ts'
import { readPartsSurvey, type SurveyedPart } from './survey-parts.ts'
import { reasonIn } from './tool-texts.ts'

/** What a task that is to fail says in its brief, on a line of its own. */
export const failLine = 'Fail on request: the person wants to see what a failed task looks like.'

const longestGoal = 4000

/** A task as `plan_tasks` takes it. */
interface PlannedTask {
  key: string
  title: string
  context: string
  skill: string
  depends_on: string[]
}

/** Makes a plan of a survey by parts: a task for each, a report of them all, a check of the report. */
export function planParts(seen: Seen): Step | undefined {
  const message = seen.messages.findLast(({ role, content }) => role === 'user' && surveyIn(content))?.content
  const survey = message === undefined ? undefined : surveyIn(message)
  if (message === undefined || !survey) return undefined
  const { asked } = readOrder(message)
  const said = /^The person said no to plan:(\d+): (.+)$/m.exec(message)
  const { parts, missing } = without(survey.parts, said?.[2])
  if (missing.length > 0)
    return { text: `I made no plan: there is no part "${missing.join('", "')}". There are: ${names(survey.parts)}` }
  if (parts.length === 0) return { text: 'I made no plan: no part is left to report on.' }
  const agents = agentsIn(seen.system)
  if (!agents.includes('researcher'))
    return { text: 'I made no plan: there is no agent "researcher" to count the parts. Add one: heddle agents new' }
  const wanted = failuresIn(asked)
  const tasks = withFailures(tasksFor({ ...survey, parts }, agents), wanted)
  const input = {
    project: {
      ...(said && { id: Number(said[1]) }),
      title: `${survey.without} by ${count(parts.length, 'part')}`,
      goal: asked.replace(/^Plan this: /, '').slice(0, longestGoal),
    },
    tasks,
  }
  const answer = answerTo(seen, 'plan_tasks', input)
  return answer === undefined
    ? { calls: [{ name: 'plan_tasks', input }] }
    : { text: told(answer, tasks, parts, wanted) }
}

function surveyIn(message: string): ReturnType<typeof readPartsSurvey> | undefined {
  const surveys = researchIn(message).map(({ output }) => readPartsSurvey(output))
  return surveys.findLast(({ parts }) => parts.length > 0)
}

function without(
  parts: SurveyedPart[],
  said: string | undefined,
): { parts: (SurveyedPart & { number: number })[]; missing: string[] } {
  const numbered = parts.map((part, at) => ({ ...part, number: at + 1 }))
  if (said === undefined) return { parts: numbered, missing: [] }
  const isMeant = (part: SurveyedPart & { number: number }, word: string) =>
    nameOf(part) === word.replace(/(?<=.)\/$/, '') || String(part.number) === word
  const words = droppedIn(said)
  return {
    parts: numbered.filter((part) => !words.some((word) => isMeant(part, word))),
    missing: words.filter((word) => !numbered.some((part) => isMeant(part, word))),
  }
}

interface Surveyed {
  parts: (SurveyedPart & { number: number })[]
  without: string
  gaps: string[]
}

const rules = [
  'Rules: every number and quote comes from a tool answer of this task; quotes carry path:line; no judgement;',
  'what cannot be counted is named with the reason.',
]

function tasksFor({ parts, without, gaps }: Surveyed, agents: string[]): PlannedTask[] {
  const counting = parts.map((part): PlannedTask => {
    const name = nameOf(part)
    return {
      key: `part-${part.number}`,
      title: `summarise ${name}`,
      skill: 'researcher',
      depends_on: [],
      context: [
        `Part: ${name}`,
        `Path: ${part.path}${part.isFlat ? ' (only the files directly in it)' : ' (with everything below it)'}`,
        `Seen by the survey: ${part.seen}`,
        `Count its files, their lines, the lines that begin with "export" and the lines with ${leftToDo}.`,
        `Leave out: ${without} (the report itself)`,
        ...rules,
        `Done when: the first line reads "${name}: N files, N lines, N exports, N ${leftToDo}."`,
      ].join('\n'),
    }
  })
  if (!agents.includes('writer')) return counting
  const writing: PlannedTask = {
    key: 'report',
    title: `write ${without}`,
    skill: 'writer',
    depends_on: counting.map(({ key }) => key),
    context: [
      `File: ${without}`,
      'Parts, in this order:',
      ...parts.map((part) => `- ${nameOf(part)}`),
      ...gaps.map((gap) => `Say also: ${gap}`),
      'Take every number and quote from the results of the tasks before, exactly as it stands there, with its source.',
      'A part whose task failed or has no result is named as missing.',
      `Done when: ${without} has a section for each part, and its last line says who wrote it.`,
    ].join('\n'),
  }
  if (!agents.includes('code-review')) return [...counting, writing]
  const checking: PlannedTask = {
    key: 'check',
    title: 'check every number',
    skill: 'code-review',
    depends_on: [writing.key],
    context: [
      `Report: ${without}`,
      `Leave out: ${without} (it was not there when the parts were counted)`,
      'Read the report, and count each of its numbers again from the files with tools of your own.',
      ...rules,
      'Done when: it is said how many numbers were counted again and how many agree, and both values of each that does not.',
    ].join('\n'),
  }
  return [...counting, writing, checking]
}

/** The tasks that somebody wants to see fail, by their place in the plan. */
function failuresIn(asked: string): number[] {
  return [...asked.matchAll(/\blet task:?\s?(\d+) fail\b/gi)].map(([, number]) => Number(number))
}

function withFailures(tasks: PlannedTask[], failing: number[]): PlannedTask[] {
  return tasks.map((task, at) =>
    failing.includes(at + 1) ? { ...task, context: `${task.context}\n${failLine}` } : task,
  )
}

function told(answer: string, tasks: PlannedTask[], parts: SurveyedPart[], failing: number[]): string {
  const made = readPlan(answer)
  if (!made) return `I made no plan, plan_tasks refused it: ${problemsIn(answer)}`
  const ids = new Map(made.tasks.map(({ key, id }) => [key, id]))
  return [
    `plan:${made.project_id}: ${count(tasks.length, 'task')} for ${count(parts.length, 'part')}.`,
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
  return parts.map(nameOf).join(', ')
}
