import type { PlanView, TaskLine } from '../../api/views/plan.ts'
import type { TaskStatus } from '../../domain/plan.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { Usage } from '../../domain/turn.ts'
import { paint, printable, type Screen, truncateToWidth, width, wrapText } from '../terminal/screen.ts'
import { formatSeconds } from './answer-page.ts'
import { formatMoney } from './format-spending.ts'
import { formatDependencies, layersOf } from './plan-layers.ts'

/** Facts about a plan that are not part of it. */
export interface PlanFacts {
  /** Max tasks that run at a time. */
  maxAgents?: number
  /** Cost of its request so far. */
  spent?: Usage
}

/** Short words for task states; the one that needs the user is in capitals. */
const stateWords: Record<TaskStatus, string> = {
  pending: 'wait',
  blocked: 'blocked',
  running: 'run',
  completed: 'ok',
  failed: 'FAILED',
  skipped: 'skip',
  cancelled: 'cancelled',
}

/**
 * A plan as lines: title, one line for each task in dependency order, and a footer. A bracket joins tasks that do not depend
 * on each other. If there are more lines than rows, finished and waiting tasks become a count; running and failed ones are
 * always shown.
 */
export function drawPlan(view: PlanView, screen: Screen, facts: PlanFacts = {}): string[] {
  const { tasks, top, bottom } = collapse(layersOf(view.tasks), screen.rows - 2)
  const columns = columnsFor(view.tasks, screen.columns)
  return [
    planTitle(view, screen, facts),
    ...top.map((count) => paint(screen, 'dim', `   ${count}`)),
    ...tasks.map(({ task, bracket }) => `${paint(screen, 'dim', bracket)} ${taskLine(task, screen, columns)}`),
    ...bottom.map((count) => paint(screen, 'dim', `   ${count}`)),
    ...(view.status === 'proposed' ? [] : [planFooter(view, screen, facts)]),
  ].map((line) => fitted(line, screen))
}

/** Lines of some tasks of a plan, in the same columns as the whole plan. */
export function drawTasks(view: PlanView, tasks: readonly TaskLine[], screen: Screen): string[] {
  const columns = columnsFor(view.tasks, screen.columns)
  return tasks.map((task) => fitted(`  ${taskLine(task, screen, columns)}`, screen))
}

/** A line cut to the width of a narrow screen. */
function fitted(line: string, { columns }: Screen): string {
  return wrapText(line, columns)[0] ?? ''
}

function planTitle({ id, title, status, tasks, counts }: PlanView, screen: Screen, { maxAgents }: PlanFacts): string {
  const number = countNoun(tasks.length, 'task')
  const proposed = `${number}${maxAgents === undefined || tasks.length < 2 ? '' : `, at most ${maxAgents} at a time`}`
  const done = `${status}, ${counts.completed ?? 0} of ${tasks.length} done`
  const state = status === 'proposed' ? proposed : status === 'completed' ? `completed, ${number}` : done
  const head = `Plan ${id} · `
  const room = screen.columns - width(`${head} · ${state}`)
  return `${paint(screen, 'bold', `${head}${truncateToWidth(printable(title), Math.max(8, room))}`)} · ${state}`
}

/** Counts of running, waiting and failed tasks, and the cost, aligned right. */
export function planFooter(
  { status, counts, tasks }: PlanView,
  screen: Screen,
  { maxAgents, spent }: PlanFacts,
): string {
  const isOver = status !== 'running'
  const working = tasks.filter((task) => task.status === 'running' && !task.isQueued).length
  const queued = (counts.running ?? 0) - working + (counts.pending ?? 0)
  const agents = `agents ${working}${maxAgents === undefined ? '' : `/${maxAgents}`}`
  const text = [
    ...(isOver ? [] : [agents]),
    ...(queued > 0 ? [`waiting ${queued}`] : []),
    ...(counts.failed ? [`failed ${counts.failed}`] : []),
    ...(counts.blocked ? [`blocked ${counts.blocked}`] : []),
    ...(spent === undefined ? [] : [formatMoney(spent)]),
  ].join(' · ')
  return paint(screen, counts.failed ? 'red' : 'dim', text.padStart(screen.columns))
}

interface Columns {
  id: number
  /** 0 while no task has started. */
  state: number
  title: number
  agent: number
  /** Room after the title. */
  rest: number
}

const secondsWide = 6
/** Min width of the state column, so that columns do not move when states change. */
const minStateWidth = 4
const maxAgentWidth = 14

function columnsFor(tasks: readonly TaskLine[], columns: number): Columns {
  const widest = (texts: string[]) => Math.max(0, ...texts.map((text) => width(text)))
  const id = widest(tasks.map((task) => String(task.id)))
  const hasStarted = tasks.some(({ status }) => status !== 'pending')
  const state = hasStarted ? Math.max(minStateWidth, widest(tasks.map(({ status }) => stateWords[status]))) : 0
  const agent = Math.min(maxAgentWidth, widest(tasks.map(({ skill }) => `@${printable(skill)}`)))
  const room = columns - 2 - id - 2 - (hasStarted ? state + 1 + secondsWide + 2 : 0)
  const title = Math.min(
    widest(tasks.map((task) => printable(task.title))),
    Math.floor(room * (hasStarted ? 0.4 : 0.5)),
  )
  return { id, state, title, agent, rest: room - title - 2 }
}

function taskLine(task: TaskLine, screen: Screen, columns: Columns): string {
  const { id, state, title, rest } = columns
  const word = stateWords[task.status]
  const time = task.seconds === undefined ? '' : formatSeconds(task.seconds * 1000)
  const standing =
    state === 0
      ? ''
      : `${paint(screen, colourOf(task.status), word)}${' '.repeat(state - word.length + 1)}${time.padStart(secondsWide)}  `
  const name = filled(printable(task.title), title)
  return `${String(task.id).padStart(id)}  ${standing}${name}  ${restOf(task, screen, columns.agent, rest)}`.trimEnd()
}

/** Text after the title: the outcome of a finished task; else agent, activity and dependencies. */
function restOf(task: TaskLine, screen: Screen, agentWide: number, room: number): string {
  const result = task.resultId === undefined ? '' : `result:${task.resultId}`
  const end = result === '' ? '' : `  ${paint(screen, 'dim', result)}`
  const left = room - width(end)
  if (isOver(task.status) || task.status === 'failed') {
    const outcome = printable(outcomeOf(task))
    return `${result === '' ? truncateToWidth(outcome, left) : filled(outcome, left)}${end}`
  }
  const agent = paint(screen, 'cyan', filled(`@${printable(task.skill)}`, agentWide))
  const doing = task.status === 'running' ? (task.doing ?? '') : formatDependencies(task.dependsOn)
  const about = truncateToWidth(printable(doing), Math.max(0, left - agentWide - 2))
  return result === '' ? `${agent}  ${about}` : `${agent}  ${filled(about, Math.max(0, left - agentWide - 2))}${end}`
}

function outcomeOf({ status, summary = '', reason }: TaskLine): string {
  if (status === 'completed') return withoutLabel(summary)
  // The state already shows that its run ended; its last text says more.
  const isOwnEnd = reason === undefined || /^run:\w+ ended: /.test(reason)
  return isOwnEnd && summary !== '' ? summary : (reason ?? '')
}

/** A summary without the rehearsal label, which would fill a narrow column. */
export function withoutLabel(summary: string): string {
  return summary.replace(/^REHEARSAL: /, '')
}

function isOver(status: TaskStatus): boolean {
  return status === 'completed' || status === 'skipped' || status === 'cancelled'
}

/** Text cut or padded to exactly `columns`. */
function filled(text: string, columns: number): string {
  const shown = truncateToWidth(text, columns)
  return shown + ' '.repeat(Math.max(0, columns - width(shown)))
}

function colourOf(status: TaskStatus): 'green' | 'yellow' | 'red' | 'cyan' | 'dim' {
  if (status === 'completed') return 'green'
  if (status === 'running') return 'cyan'
  if (status === 'failed') return 'red'
  return status === 'blocked' ? 'yellow' : 'dim'
}

interface VisibleTasks {
  tasks: { task: TaskLine; bracket: string }[]
  /** Counts of hidden tasks: finished ones, and waiting ones. */
  top: string[]
  bottom: string[]
}

/** Hides the oldest finished tasks, then the last waiting ones, until the rest fits. */
function collapse(layers: TaskLine[][], rows: number): VisibleTasks {
  const all = layers.flat()
  const hidden = new Set<TaskLine>()
  const [top, bottom]: [string[], string[]] = [[], []]
  let surplus = all.length - rows
  const leaveOut = (kind: TaskLine[], name: string, counts: string[]) => {
    // The count itself takes a line.
    if (surplus <= 0 || kind.length < 2) return
    const out = kind.slice(0, surplus + 1)
    for (const task of out) hidden.add(task)
    counts.push(`… ${out.length} ${name}`)
    surplus -= out.length - 1
  }
  leaveOut(
    all.filter(({ status }) => isOver(status)),
    'done',
    top,
  )
  for (const status of ['pending', 'blocked'] as const)
    leaveOut(all.filter((task) => task.status === status).reverse(), stateWords[status], bottom)
  const shown = layers.map((layer) => layer.filter((task) => !hidden.has(task)))
  return { tasks: shown.flatMap(bracketed), top, bottom }
}

function bracketed(layer: TaskLine[]): VisibleTasks['tasks'] {
  const last = layer.length - 1
  return layer.map((task, at) => ({ task, bracket: last === 0 ? ' ' : at === 0 ? '┌' : at === last ? '└' : '│' }))
}
