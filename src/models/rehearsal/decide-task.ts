import type { Call } from './seen.ts'
import { planIn, refusalIn, type Talk } from './talk.ts'
import { failedIn } from './tell-plan.ts'

/** What a person wants to become of a task. */
export interface Decision {
  action: 'retry' | 'skip' | 'cancel' | 'edit'
  /** As they say it: an id with a colon, without one perhaps its place in the plan. */
  task?: { number: number; isId: boolean }
  context?: string
}

const becomes: Record<Decision['action'], string> = {
  retry: 'is tried again',
  skip: 'is skipped',
  cancel: 'is cancelled',
  edit: 'has a new brief',
}

export function hearsDecision(asked: string): Decision | undefined {
  const found =
    /^(?:please )?(retry|skip|cancel|edit)(?:\s+it|\s+the task|\s+task(:|\s+)?(\d+))?(?:\s+with:?\s+(.+))?\s*[.!]?$/is.exec(
      asked,
    )
  if (!found) return undefined
  const [, action = '', mark = '', number, context] = found
  return {
    action: action.toLowerCase() as Decision['action'],
    ...(number !== undefined && { task: { number: Number(number), isId: mark === ':' } }),
    ...(context !== undefined && { context: context.trim() }),
  }
}

/** The call that does it, or the one that finds out which task is meant. */
export function decideTask(decision: Decision, talk: Talk): { calls: Call[]; text: string } {
  const { action, task, context } = decision
  if (action === 'edit' && context === undefined)
    return { calls: [], text: 'edit it how? Give its new brief: edit task:ID with: NEW BRIEF' }
  const failed = failedTasks(talk)
  const id = task?.isId || (task && failed.includes(task.number)) ? task.number : undefined
  if (id !== undefined) return update(id, decision)
  const [only, ...others] = failed
  if (!task && only !== undefined && others.length === 0) return update(only, decision)
  if (!task) return { calls: [], text: `which task? Say: ${action} task:ID` }
  return { calls: [{ name: 'task_list', input: listOf(talk) }], text: '' }
}

/** What follows in the same turn: the task that was looked up is changed, the change that was made is told. */
export function updatesFrom(talk: Talk): { calls: Call[]; text: string }[] {
  const changed = talk.made.filter(({ name, text }) => name === 'task_update' && refusalIn(text) === undefined)
  if (changed.length > 0)
    return changed.map(({ input }) => ({
      calls: [],
      text: `task:${input['id']} ${becomes[input['action'] as Decision['action']]}.`,
    }))
  const listed = talk.made.find(({ name }) => name === 'task_list')
  const asked = talk.now.flatMap((heard) => (heard.kind === 'person' ? [heard.text] : [])).map(hearsDecision)
  const decision = asked.find((each) => each?.task)
  if (!listed || !decision?.task || talk.made.some(({ name }) => name === 'task_update')) return []
  const ids = idsIn(listed.text)
  const id = ids[decision.task.number - 1]
  if (id !== undefined) return [update(id, decision)]
  return [
    {
      calls: [],
      text: `there is no task ${decision.task.number}; there are: ${ids.map((each) => `task:${each}`).join(', ')}`,
    },
  ]
}

/** What a new brief says besides the person's words: one line alone is no brief. */
const anew =
  'The title says what is to be done. Every number and quote comes from a tool answer of this task, with path:line.'

function update(id: number, { action, context }: Decision): { calls: Call[]; text: string } {
  return {
    calls: [
      { name: 'task_update', input: { id, action, ...(context !== undefined && { context: `${context}\n${anew}` }) } },
    ],
    text: '',
  }
}

/** Tasks that the last line about a plan names as failed. */
function failedTasks({ before, now }: Talk): number[] {
  const plans = [...before, ...now].flatMap((heard) => (heard.kind === 'plan' ? [heard] : []))
  return failedIn(plans.at(-1)?.text ?? '')
}

/** The plan that was spoken of last, if one was. */
function listOf({ before, now }: Talk): Record<string, unknown> {
  const ids = [...before, ...now].flatMap((heard) => {
    if (heard.kind === 'plan') return [heard.id]
    return heard.kind === 'result' ? [planIn(heard.summary)?.id ?? []].flat() : []
  })
  const id = ids.at(-1)
  return id === undefined ? {} : { project_id: id }
}

/** Ids of the tasks in an answer of `task_list`, in the order in which they were planned. */
function idsIn(text: string): number[] {
  try {
    const answer = JSON.parse(text) as { tasks?: unknown } | unknown[]
    const rows = Array.isArray(answer) ? answer : Array.isArray(answer.tasks) ? answer.tasks : []
    return rows.map(({ id }: { id: unknown }) => Number(id)).sort((a, b) => a - b)
  } catch {
    return []
  }
}
