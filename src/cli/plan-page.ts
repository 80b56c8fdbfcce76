import type { ResultView } from '../domain/app.ts'
import { tail } from '../domain/id.ts'
import type { PlanView, TaskLine, TaskView } from '../domain/plan-views.ts'
import { facts } from './facts.ts'
import { drawPlan } from './plan-graph.ts'
import { afterWords } from './plan-layers.ts'
import { printable, type Screen, table, wrapped } from './screen.ts'

/** All of a plan: where it comes from, every task, and what can be done about it now. */
export function planPage(screen: Screen, plan: PlanView): string {
  const head = facts(screen, `plan:${plan.id}`, [
    ['goal', plan.goal && inside(screen, printable(plan.goal), 9)],
    ['session', plan.session && `${printable(plan.session)} in ${printable(plan.folder ?? '–')}`],
    ['planned', `run:${plan.runId}${plan.revision > 1 ? `, planning ${plan.revision}` : ''}`],
    ['ended', plan.finishedAt],
    ['next', nextForPlan(plan)],
  ])
  return [head, '', ...drawPlan(plan, { ...screen, rows: Number.POSITIVE_INFINITY })].join('\n')
}

/** One thing to do next; nothing about what is over and well. */
export function nextForPlan({ id, status, approvalId, tasks }: PlanView): string | null {
  const failed = tasks.find((task) => task.status === 'failed')
  if (failed) return `heddle retry task:${failed.id}, or heddle tasks skip task:${failed.id}`
  if (approvalId !== undefined) return `heddle approve ${approvalId}, or heddle deny ${approvalId} --reason "…"`
  if (status === 'running') return `heddle plans plan:${id} -w`
  return status === 'proposed' ? `ask for it: heddle ask "run plan ${id}"` : null
}

/** All of a task: its brief as its agent reads it, and what came of each try. */
export function taskPage(screen: Screen, task: TaskView): string {
  const head = facts(screen, `task:${task.id}`, [
    ['title', inside(screen, printable(task.title), 10)],
    ['plan', `plan:${task.planId} ${printable(task.plan)}`],
    ['status', `${task.status}${task.reason === undefined ? '' : `: ${printable(task.reason)}`}`],
    ['agent', `@${printable(task.skill)}${task.model === null ? '' : `, ${printable(task.model)}`}`],
    ['needs', task.dependsOn.map((id) => `task:${id}`).join(', ') || null],
    ['tried', task.attempts > 0 ? `${task.attempts} ${task.attempts === 1 ? 'time' : 'times'}` : null],
    ['run', task.runId === undefined ? null : `run:${task.runId}${task.doing ? `, ${printable(task.doing)}` : ''}`],
    ['next', nextForTask(task)],
  ])
  const results = task.results.map(({ id, status, runId, summary }) => [
    `  result:${id}`,
    status,
    printable(summary),
    `run:${tail(runId)}`,
  ])
  const brief = readable(screen, task.context.trimEnd())
  return [head, '', brief, ...(results.length > 0 ? ['', table(screen, results, 2)] : [])].join('\n')
}

function nextForTask({ id, status, runId, resultId }: TaskLine): string | null {
  if (status === 'failed')
    return `heddle retry task:${id}, heddle tasks edit task:${id}, or heddle tasks skip task:${id}`
  if (status === 'pending' || status === 'blocked') return `heddle tasks edit task:${id}`
  if (status === 'running' && runId !== undefined) return `heddle watch run:${tail(runId)}`
  return resultId === undefined ? null : `heddle show result:${resultId}`
}

/** All of what an agent handed over. */
export function resultPage(screen: Screen, result: ResultView): string {
  const files = result.artifacts.map(
    ({ path, bytes, verified }) =>
      `${printable(path)} (${bytes === null ? '' : `${bytes} bytes, `}${verified ? 'verified' : 'not verified'})`,
  )
  const head = facts(screen, `result:${result.id}`, [
    ['run', `run:${result.runId}${result.skillUsed === null ? '' : `, @${printable(result.skillUsed)}`}`],
    ['task', result.taskId === null ? null : `task:${result.taskId}`],
    ['status', `${result.status}${result.processed ? '' : ', not read yet by whoever asked for it'}`],
    ['at', result.createdAt],
    ['files', files.join(', ') || null],
  ])
  return `${head}\n\n${readable(screen, result.output)}`
}

/** Rows of a list of tasks. */
export function taskRow(task: TaskLine): string[] {
  return [
    `task:${task.id}`,
    `plan:${task.planId}`,
    task.status,
    printable(task.title),
    `@${printable(task.skill)}`,
    task.resultId === undefined ? afterWords(task.dependsOn) : `result:${task.resultId}`,
  ]
}

/** Text of agents as it is; on a terminal its lines are broken between words. */
function readable(screen: Screen, text: string): string {
  const safe = printable(text, { lines: true })
  return screen.isTerminal ? wrapped(safe, screen.columns, { words: true }).join('\n') : safe
}

/** Text that goes on below itself, behind the name of a fact. */
function inside(screen: Screen, text: string, indent: number): string {
  return wrapped(text, Math.max(20, screen.columns - indent), { words: true }).join(`\n${' '.repeat(indent)}`)
}
