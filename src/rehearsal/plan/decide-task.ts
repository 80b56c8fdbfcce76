import type { ScriptedCall } from '../script-view.ts'
import { planIn, refusalIn, type Talk } from './conversation.ts'
import { failedIn } from './describe-plan.ts'

/** The user's decision about a task. */
interface WantedDecision {
  action: 'retry' | 'skip' | 'cancel' | 'edit'
  /** With a colon an id; without one perhaps the position in the plan. */
  task?: { number: number; isId: boolean }
  context?: string
}

const outcomeTexts: Record<WantedDecision['action'], string> = {
  retry: 'is tried again',
  skip: 'is skipped',
  cancel: 'is cancelled',
  edit: 'has a new brief',
}

export function parseDecision(prompt: string): WantedDecision | undefined {
  const found =
    /^(?:please )?(retry|skip|cancel|edit)(?:\s+it|\s+the task|\s+task(:|\s+)?(\d+))?(?:\s+with:?\s+(.+))?\s*[.!]?$/is.exec(
      prompt,
    )
  if (!found) return undefined
  const [, action = '', mark = '', number, context] = found
  return {
    action: action.toLowerCase() as WantedDecision['action'],
    ...(number !== undefined && { task: { number: Number(number), isId: mark === ':' } }),
    ...(context !== undefined && { context: context.trim() }),
  }
}

/** The call that applies the decision, or one that finds the task. */
export function decideTaskStep(decision: WantedDecision, talk: Talk): { calls: ScriptedCall[]; text: string } {
  const { action, task, context } = decision
  if (action === 'edit' && context === undefined)
    return { calls: [], text: 'edit it how? Give its new brief: edit task:ID with: NEW BRIEF' }
  const failed = failedTasks(talk)
  const id = task?.isId || (task && failed.includes(task.number)) ? task.number : undefined
  if (id !== undefined) return update(id, decision)
  const [only, ...others] = failed
  if (!task && only !== undefined && others.length === 0) return update(only, decision)
  if (!task) return { calls: [], text: `which task? Say: ${action} task:ID` }
  return { calls: [{ name: 'task_list', input: listFilter(talk) }], text: '' }
}

/** Continues in the same turn: updates the task that was looked up, or reports the update. */
export function updatesFrom(talk: Talk): { calls: ScriptedCall[]; text: string }[] {
  const changed = talk.made.filter(({ name, text }) => name === 'task_update' && refusalIn(text) === undefined)
  if (changed.length > 0)
    return changed.map(({ input }) => ({
      calls: [],
      text: `task:${input['id']} ${outcomeTexts[input['action'] as WantedDecision['action']]}.`,
    }))
  const listed = talk.made.find(({ name }) => name === 'task_list')
  const decisions = talk.now.flatMap((item) => (item.kind === 'person' ? [item.text] : [])).map(parseDecision)
  const decision = decisions.find((each) => each?.task)
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

/** Added to the user's words in a new brief: one line alone is not enough. */
const briefSuffix =
  'The title says what is to be done. Every number and quote comes from a tool answer of this task, with path:line.'

function update(id: number, { action, context }: WantedDecision): { calls: ScriptedCall[]; text: string } {
  return {
    calls: [
      {
        name: 'task_update',
        input: { id, action, ...(context !== undefined && { context: `${context}\n${briefSuffix}` }) },
      },
    ],
    text: '',
  }
}

/** Failed tasks according to the last line about a plan. */
function failedTasks({ before, now }: Talk): number[] {
  const plans = [...before, ...now].flatMap((item) => (item.kind === 'plan' ? [item] : []))
  return failedIn(plans.at(-1)?.text ?? '')
}

/** Filter for the plan that was mentioned last. */
function listFilter({ before, now }: Talk): Record<string, unknown> {
  const ids = [...before, ...now].flatMap((item) => {
    if (item.kind === 'plan') return [item.id]
    return item.kind === 'result' ? [planIn(item.summary)?.id ?? []].flat() : []
  })
  const id = ids.at(-1)
  return id === undefined ? {} : { project_id: id }
}

/** Task ids in an answer of `task_list`, in planned order. */
function idsIn(text: string): number[] {
  try {
    const answer = JSON.parse(text) as { tasks?: unknown } | unknown[]
    const rows = Array.isArray(answer) ? answer : Array.isArray(answer.tasks) ? answer.tasks : []
    return rows.map(({ id }: { id: unknown }) => Number(id)).sort((a, b) => a - b)
  } catch {
    return []
  }
}
