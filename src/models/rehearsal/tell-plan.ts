import { rehearsedFailure } from './fail.ts'
import { type HeardPlan, type HeardResult, planIn, type Talk } from './talk.ts'

/** The end of one task, while others go on. */
export function taskEnded({ id, task, status, summary }: HeardResult): string {
  return `task:${task?.id} "${task?.title}" ${status}: ${sentence(summary)} result:${id}`
}

/** The end of a plan, in the words of its results; or what there is to decide. */
export function planEnded(plan: HeardPlan, talk: Talk): string {
  const tasks = tasksOf(plan, talk)
  return plan.state === 'completed' ? completed(plan, tasks) : stopped(plan, tasks)
}

function completed({ id, text }: HeardPlan, tasks: HeardResult[]): string {
  const told = (result: HeardResult) => `${sentence(result.summary)} result:${result.id}`
  const ends = tasks.filter(({ task, status }) => status === 'completed' && /^(?:write|check) /.test(task?.title ?? ''))
  const counts = /completed: (.+)$/s.exec(text)?.[1] ?? ''
  return [
    ...(ends.length > 0 ? ends.map(told) : tasks.map(taskEnded)),
    `plan:${id}: ${counts}. I am a script: the numbers and quotes are real, the judgement is missing.`,
  ].join('\n')
}

function stopped({ id, text }: HeardPlan, tasks: HeardResult[]): string {
  const failed = failedIn(text)
  const blocked = (/blocked \(([^)]*)\)/.exec(text) ?? /; (task:.*?) (?:is|are) blocked/.exec(text))?.[1]
  const known = failed.flatMap((number) => tasks.findLast(({ task }) => task?.id === number) ?? [])
  const [first = failed[0]] = known.map(({ task }) => task?.id)
  const isAsked = known.some(({ summary }) => summary.includes(rehearsedFailure))
  return [
    ...(known.length > 0
      ? known.map(taskEnded)
      : [`plan:${id}: ${failed.map((each) => `task:${each}`).join(', ')} failed`]),
    ...(blocked === undefined ? [] : [`Waiting for it: ${blocked}`]),
    ...(isAsked ? ['Its brief still asks it to fail: a retry needs a new one.'] : []),
    `You decide: retry task:${first} · retry task:${first} with: NEW BRIEF · edit task:${first} with: NEW BRIEF · skip task:${first} · cancel task:${first}`,
  ].join('\n')
}

/** The tasks that a line about a plan names as failed or cancelled: those that somebody must decide about. */
export function failedIn(text: string): number[] {
  const counted = [...text.matchAll(/\d+ (?:failed|cancelled) \(([^)]*)\)/g)].map(([, names = '']) => names)
  const alone = /^plan:\d+: (task:\d+) (?:failed|cancelled)\b/.exec(text)?.[1] ?? ''
  return [...[...counted, alone].join(' ').matchAll(/task:(\d+)/g)].map(([, id]) => Number(id))
}

/** The last result of each task since the plan was made. */
function tasksOf({ id }: HeardPlan, { before, now }: Talk): HeardResult[] {
  const heard = [...before, ...now]
  const made = heard.findLastIndex((each) => each.kind === 'result' && planIn(each.summary)?.id === id)
  const last = new Map<number, HeardResult>()
  for (const each of heard.slice(made + 1)) {
    if (each.kind !== 'result' || !each.task) continue
    last.delete(each.task.id)
    last.set(each.task.id, each)
  }
  return [...last.values()]
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
