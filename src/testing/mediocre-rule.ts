import { playDefault, readOnlyCall, requestedTaskCount } from './mediocre-defaults.ts'
import { isNews, isUnreadable, type MediocreRequest, readMediocreRequest } from './mediocre-request.ts'
import type { ProviderAnswer, ProviderRequest } from './provider-wire.ts'

/** Mediocre models, named after their habits. */
export const mediocreNames = [
  'prose-planner',
  'half-json-caller',
  'looper',
  'liar',
  'silent',
  'over-long',
  'retrier',
] as const
export type MediocreName = (typeof mediocreNames)[number]

/** Models whose tasks fail. */
const failing: readonly MediocreName[] = ['looper', 'silent', 'retrier']

export interface MediocreOptions {
  /** Model that answers everything; default: the model named in the task ("Part 3 by the looper"), else a good one. */
  who?: MediocreName
  /** Seed of pseudo-random choices. */
  seed?: number
}

/**
 * Mediocre models. Each plays coordinator, planner and worker, and has one bad habit of small models. A goal sets
 * the number of tasks and their models: "12 tasks by all models", "3 tasks by the liar". Answers depend only on seed and
 * request, so that a request repeated after a crash gets the same answer. For `startProvider`, in every wire format;
 * `mediocreModel` is the same without a provider.
 */
export function mediocreRule({ who, seed = 1 }: MediocreOptions = {}): (request: ProviderRequest) => ProviderAnswer {
  return (request) => {
    const input = readMediocreRequest(request, seed)
    const [title = ''] = input.task.split('\n')
    const model = who ?? modelNamesIn(input.part === 'worker' ? title : input.task)[0]
    const defaultAnswer = playDefault(input, workersFor(input.task))
    return (model && habits[model](input, defaultAnswer)) ?? defaultAnswer
  }
}

/** A bad habit; undefined for the default behaviour. */
type Habit = (request: MediocreRequest, defaultAnswer: ProviderAnswer) => ProviderAnswer | undefined

const habits: Record<MediocreName, Habit> = {
  /** Describes the work instead of doing it; as a planner it does so again after a reminder, one time in three. */
  'prose-planner': (request) => {
    if (request.part === 'worker') return { text: 'First I would look around. Then I would sum up what there is.' }
    return withoutPlan(request, 'The plan:\n1. Look at each part.\n2. Sum up.\n3. Check the numbers.')
  },

  /** Its calls are not JSON at first; it fixes them at the first or second retry. */
  'half-json-caller': ({ made, chance }, defaultAnswer) =>
    made.filter(isUnreadable).length > chance(2) ? undefined : withBrokenInput(defaultAnswer, chance),

  /** Repeats the same call forever. */
  looper: ({ part, lastMessage, tools }) => {
    const call = readOnlyCall(tools)
    if (part === 'worker' && call) return { text: 'Let me look once more.', calls: [call] }
    return part === 'coordinator' && isResult(lastMessage)
      ? { calls: [{ name: 'project_status', input: {} }] }
      : undefined
  },

  /** Claims to have done everything; names files that it never wrote. */
  liar: (request) => {
    const { part, lastMessage, chance } = request
    const file = `report-${chance(1000)}.md`
    if (part === 'worker') return { text: `I did it all, and every test passes.\n\nFiles:\n- ${file}` }
    if (part === 'planner') return withoutPlan(request, 'I have called plan_tasks, and it has accepted the plan.')
    return isResult(lastMessage)
      ? { text: 'Everything is done: all tasks were completed, and every test passes.' }
      : undefined
  },

  /** Answers with empty text. */
  silent: (request) => {
    const { part, lastMessage } = request
    if (part === 'worker') return { text: '' }
    return part === 'planner' ? withoutPlan(request, '') : isResult(lastMessage) ? { text: '' } : undefined
  },

  /** Talks until the token limit; the call that a planner had started is lost. */
  'over-long': (request, defaultAnswer) => {
    if (request.part === 'planner') {
      const cut = withoutPlan(request, rambling(request))
      return cut && { ...cut, calls: defaultAnswer.calls ?? [], finish: 'length' }
    }
    return defaultAnswer.calls ? undefined : { text: rambling(request), finish: 'length' }
  },

  /** Repeats failed calls unchanged. */
  retrier: ({ part, lastMessage, made, tools, chance }) => {
    if (part === 'worker') {
      const path = `missing-${chance(1000)}.md`
      return { calls: [tools.includes('read_file') ? { name: 'read_file', input: { path } } : { name: 'open_file' }] }
    }
    const failed = part === 'coordinator' ? failedTasks(lastMessage) : []
    const refusals = made.filter(({ name, answer }) => name === 'task_update' && answer.includes('remedy')).length
    if (failed.length === 0 || refusals > chance(3) * failed.length) return undefined
    const again = failed.map((id) => ({ name: 'task_update', input: { id, action: 'retry' } }))
    return { text: 'Again.', calls: [...again, { name: 'wait' }] }
  },
}

/** A planner's answer without a plan; after a reminder two in three make the plan. */
function withoutPlan({ part, lastMessage, made, chance }: MediocreRequest, text: string): ProviderAnswer | undefined {
  const isReminded = lastMessage.includes('You have not called plan_tasks')
  return part === 'planner' && made.length === 0 && (!isReminded || chance(3) === 0) ? { text } : undefined
}

/** Whether a message reports the end of a plan or of a task. */
function isResult(lastMessage: string): boolean {
  return isNews(lastMessage) && !/\[plan:\d+, \d+ tasks\]/.test(lastMessage)
}

function withBrokenInput(answer: ProviderAnswer, chance: MediocreRequest['chance']): ProviderAnswer | undefined {
  if (!answer.calls) return undefined
  const calls = answer.calls.map(({ name, input }) =>
    input === undefined ? { name } : { name, arguments: brokenJson(JSON.stringify(input), chance(4)) },
  )
  return { ...answer, calls }
}

/** Typical JSON errors of small models. */
function brokenJson(json: string, way: number): string {
  switch (way) {
    case 0:
      return json.slice(0, Math.ceil(json.length * 0.6))
    case 1:
      return `\`\`\`json\n${json}\n\`\`\``
    case 2:
      return json.replaceAll('"', "'")
    default:
      return `${json.slice(0, -1)},}`
  }
}

/** Text up to the token limit, at four characters per token. */
function rambling({ maxTokens }: MediocreRequest): string {
  const sentence = 'And then there is one more thing to be said about it, which is this. '
  return sentence.repeat(Math.ceil((maxTokens * 4) / sentence.length)).slice(0, maxTokens * 4)
}

/** Failed tasks in a message to the coordinator. */
function failedTasks(lastMessage: string): number[] {
  const reported = [...lastMessage.matchAll(/task:(\d+) (?:"[^"]*" )?(?:failed|timeout)/g)].map(([, id]) => Number(id))
  const listed = [...lastMessage.matchAll(/failed \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/task:(\d+)/g)].map(([, id]) => Number(id)),
  )
  return [...new Set([...reported, ...listed])]
}

/** Models that a text names, in order. */
function modelNamesIn(text: string): MediocreName[] {
  const found = text.matchAll(new RegExp(`(?<![\\w-])(?:${mediocreNames.join('|')})(?![\\w-])`, 'g'))
  return [...found].map(([name]) => name as MediocreName)
}

/**
 * Models for the tasks of a goal, in order: those it names, or all of them and a good one. Failing models come last,
 * where no task depends on them.
 */
function workersFor(goal: string): string[] {
  const models = /\ball models\b/.test(goal) ? (['', ...mediocreNames] as const) : [...new Set(modelNamesIn(goal))]
  const parts = Array.from({ length: requestedTaskCount(goal) }, (_, at) => models[at % models.length] ?? '')
  const isFailing = (name: MediocreName | '') => name !== '' && failing.includes(name)
  return [...parts.filter((name) => !isFailing(name)), ...parts.filter(isFailing)]
}
