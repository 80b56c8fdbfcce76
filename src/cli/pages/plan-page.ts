import type { PlanView, TaskLine, TaskView } from '../../api/views/plan.ts'
import type { ResultView } from '../../api/views/result.ts'
import { shortId } from '../../domain/id.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import { facts } from '../terminal/facts.ts'
import { paint, printable, type Screen, table, wrapText } from '../terminal/screen.ts'
import { drawPlan } from './plan-graph.ts'
import { formatDependencies } from './plan-layers.ts'

/** Everything about a plan: origin, all tasks, and the next command. */
export function planPage(screen: Screen, plan: PlanView): string {
  const head = facts(screen, `plan:${plan.id}`, [
    ['goal', plan.goal && inside(screen, printable(plan.goal), 9)],
    ['session', plan.session && `${printable(plan.session)} in ${printable(plan.folder ?? '–')}`],
    ['planned', `run:${plan.runId}${plan.revision > 1 ? `, revision ${plan.revision}` : ''}`],
    ['ended', plan.finishedAt],
    ['next', nextForPlan(plan)],
  ])
  const drawn = drawPlan(plan, { ...screen, rows: Number.POSITIVE_INFINITY })
  return [head, '', ...drawn, ...noticesOf(screen, plan)].join('\n')
}

/** Warnings before a plan starts, and writes that other tasks overwrote. */
export function noticesOf(screen: Screen, { warnings = [], lost = [] }: Pick<PlanView, 'warnings' | 'lost'>): string[] {
  const notice = (name: string, line: string) =>
    `${paint(screen, 'yellow', name.padEnd(7))}  ${inside(screen, printable(line), 9)}`
  return [...warnings.map((line) => notice('careful', line)), ...lost.map((line) => notice('lost', line))]
}

/** The next command; null for a plan that ended well. */
export function nextForPlan({ id, status, approvalId, tasks }: PlanView): string | null {
  const failed = tasks.find((task) => task.status === 'failed')
  if (failed) return `heddle retry task:${failed.id}, or heddle tasks skip task:${failed.id}`
  if (approvalId !== undefined) return `heddle approve ${approvalId}, or heddle deny ${approvalId} --reason "…"`
  if (status === 'running') return `heddle plans plan:${id} -w`
  return status === 'proposed' ? `ask for it: heddle ask "run plan ${id}"` : null
}

/** Everything about a task: its brief, and the result of each attempt. */
export function taskPage(screen: Screen, task: TaskView): string {
  const head = facts(screen, `task:${task.id}`, [
    ['title', inside(screen, printable(task.title), 10)],
    ['plan', `plan:${task.planId} ${printable(task.plan)}`],
    ['status', `${task.status}${task.reason === undefined ? '' : `: ${printable(task.reason)}`}`],
    ['agent', `@${printable(task.skill)}${task.model === null ? '' : `, ${printable(task.model)}`}`],
    ['needs', task.dependsOn.map((id) => `task:${id}`).join(', ') || null],
    ['tried', task.attempts > 0 ? countNoun(task.attempts, 'time') : null],
    ['run', task.runId === undefined ? null : `run:${task.runId}${task.doing ? `, ${printable(task.doing)}` : ''}`],
    ...(task.lost ?? []).map((line): [string, string] => ['lost', inside(screen, printable(line), 8)]),
    ['told', task.narratives.map((id) => `narrative:${id}`).join(', ') || null],
    ['next', nextForTask(task)],
  ])
  const results = task.results.map(({ id, status, runId, summary }) => [
    `  result:${id}`,
    status,
    printable(summary),
    `run:${shortId(runId)}`,
  ])
  const brief = readable(screen, task.context.trimEnd())
  return [head, '', brief, ...(results.length > 0 ? ['', table(screen, results, 2)] : [])].join('\n')
}

function nextForTask({ id, status, runId, resultId }: TaskLine): string | null {
  if (status === 'failed')
    return `heddle retry task:${id}, heddle tasks edit task:${id}, or heddle tasks skip task:${id}`
  if (status === 'pending' || status === 'blocked') return `heddle tasks edit task:${id}`
  if (status === 'running' && runId !== undefined) return `heddle watch run:${shortId(runId)}`
  return resultId === undefined ? null : `heddle show result:${resultId}`
}

/** Everything about a result. */
export function resultPage(screen: Screen, result: ResultView): string {
  const files = result.artifacts.map(
    ({ path, bytes, verified, since }) =>
      `${printable(path)} (${verified ? `${bytes} bytes, verified` : printable(since ?? 'not verified')})`,
  )
  const head = facts(screen, `result:${result.id}`, [
    ['run', `run:${result.runId}${result.skillUsed === null ? '' : `, @${printable(result.skillUsed)}`}`],
    ['task', result.taskId === null ? null : `task:${result.taskId}`],
    ['status', `${result.status}${result.processed ? '' : ', not read yet by its requester'}`],
    ['at', result.createdAt],
    ['files', files.join(', ') || null],
  ])
  return `${head}\n\n${readable(screen, result.output)}`
}

/** Cells of a task in a list. */
export function taskRow(task: TaskLine): string[] {
  return [
    `task:${task.id}`,
    `plan:${task.planId}`,
    task.status,
    printable(task.title),
    `@${printable(task.skill)}`,
    task.resultId === undefined ? formatDependencies(task.dependsOn) : `result:${task.resultId}`,
  ]
}

/** Text of an agent, wrapped between words on a terminal. */
function readable(screen: Screen, text: string): string {
  const safe = printable(text, { lines: true })
  return screen.isTerminal ? wrapText(safe, screen.columns, { words: true }).join('\n') : safe
}

/** Wrapped text with a hanging indent, for the value of a fact. */
function inside(screen: Screen, text: string, indent: number): string {
  return wrapText(text, Math.max(20, screen.columns - indent), { words: true }).join(`\n${' '.repeat(indent)}`)
}
