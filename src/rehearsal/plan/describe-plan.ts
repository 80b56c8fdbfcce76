import { rehearsedFailure } from '../fail.ts'
import { type PlanItem, planIn, type ResultItem, type Talk } from './conversation.ts'

/** Text for the end of one task while others are running. */
export function describeTaskEnd({ id, task, status, summary }: ResultItem): string {
  return `task:${task?.id} "${task?.title}" ${status}: ${sentence(summary)} result:${id}`
}

/** Text for the end of a plan: its results, or the open decision. */
export function describePlanEnd(plan: PlanItem, talk: Talk): string {
  const tasks = taskResults(plan, talk)
  return plan.state === 'completed' ? completed(plan, tasks) : stopped(plan, tasks)
}

function completed({ id, text }: PlanItem, tasks: ResultItem[]): string {
  const describe = (result: ResultItem) => `${sentence(result.summary)} result:${result.id}`
  const ends = tasks.filter(({ task, status }) => status === 'completed' && /^(?:write|check) /.test(task?.title ?? ''))
  const counts = /completed: (.+)$/s.exec(text)?.[1] ?? ''
  return [
    ...(ends.length > 0 ? ends.map(describe) : tasks.map(describeTaskEnd)),
    `plan:${id}: ${counts}. Demo script: the numbers and quotes are real, no model was asked.`,
  ].join('\n')
}

function stopped({ id, text }: PlanItem, tasks: ResultItem[]): string {
  const failed = failedIn(text)
  const blocked = (/blocked \(([^)]*)\)/.exec(text) ?? /; (task:.*?) (?:is|are) blocked/.exec(text))?.[1]
  const known = failed.flatMap((number) => tasks.findLast(({ task }) => task?.id === number) ?? [])
  const [first = failed[0]] = known.map(({ task }) => task?.id)
  const isOnRequest = known.some(({ summary }) => summary.includes(rehearsedFailure))
  return [
    ...(known.length > 0
      ? known.map(describeTaskEnd)
      : [`plan:${id}: ${failed.map((each) => `task:${each}`).join(', ')} failed`]),
    ...(blocked === undefined ? [] : [`Waiting for it: ${blocked}`]),
    ...(isOnRequest ? ['Its brief still asks it to fail: a retry needs a new one.'] : []),
    `You decide: retry task:${first} · retry task:${first} with: NEW BRIEF · edit task:${first} with: NEW BRIEF · skip task:${first} · cancel task:${first}`,
  ].join('\n')
}

/** Failed or cancelled tasks in a line about a plan, which the user must decide about. */
export function failedIn(text: string): number[] {
  const counted = [...text.matchAll(/\d+ (?:failed|cancelled) \(([^)]*)\)/g)].map(([, names = '']) => names)
  const alone = /^plan:\d+: (task:\d+) (?:failed|cancelled)\b/.exec(text)?.[1] ?? ''
  return [...[...counted, alone].join(' ').matchAll(/task:(\d+)/g)].map(([, id]) => Number(id))
}

/** Last result of each task since the plan was made. */
function taskResults({ id }: PlanItem, { before, now }: Talk): ResultItem[] {
  const items = [...before, ...now]
  const made = items.findLastIndex((each) => each.kind === 'result' && planIn(each.summary)?.id === id)
  const last = new Map<number, ResultItem>()
  for (const each of items.slice(made + 1)) {
    if (each.kind !== 'result' || !each.task) continue
    last.delete(each.task.id)
    last.set(each.task.id, each)
  }
  return [...last.values()]
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
