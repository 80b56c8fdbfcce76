import type { TaskStatus } from '../domain/plan.ts'
import type { PlanView, TaskLine } from '../domain/plan-views.ts'
import type { Usage } from '../domain/turn.ts'
import { seconds } from './answer-page.ts'
import { afterWords, layersOf } from './plan-layers.ts'
import { cut, paint, printable, type Screen, width, wrapped } from './screen.ts'
import { moneyWords } from './spending-words.ts'

/** What is known of a plan besides itself. */
export interface PlanFacts {
  /** How many of its tasks may be under way at a time. */
  most?: number
  /** What its request has cost so far. */
  spent?: Usage
}

/** How the states are called where there is little room; the one that needs somebody is loud. */
export const stateWords: Record<TaskStatus, string> = {
  pending: 'wait',
  blocked: 'blocked',
  running: 'run',
  completed: 'ok',
  failed: 'FAILED',
  skipped: 'skip',
  cancelled: 'cancelled',
}

/**
 * A plan as lines: what it is, one line for each task in the order of what needs what, and how it stands. A bracket
 * before tasks says that they need nothing of each other. Of more lines than there are rows, what is done and what
 * waits becomes a count; what runs or failed never does.
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

/** The lines of some tasks of a plan, in the columns of the whole. */
export function drawTasks(view: PlanView, tasks: readonly TaskLine[], screen: Screen): string[] {
  const columns = columnsFor(view.tasks, screen.columns)
  return tasks.map((task) => fitted(`  ${taskLine(task, screen, columns)}`, screen))
}

/** On a screen that is too narrow for every column, what there is room for. */
function fitted(line: string, { columns }: Screen): string {
  return wrapped(line, columns)[0] ?? ''
}

function planTitle({ id, title, status, tasks, counts }: PlanView, screen: Screen, { most }: PlanFacts): string {
  const number = tasks.length === 1 ? '1 task' : `${tasks.length} tasks`
  const proposed = `${number}${most === undefined || tasks.length < 2 ? '' : `, at most ${most} at a time`}`
  const done = `${status}, ${counts.completed ?? 0} of ${tasks.length} done`
  const state = status === 'proposed' ? proposed : status === 'completed' ? `completed, ${number}` : done
  const head = `Plan ${id} · `
  const room = screen.columns - width(`${head} · ${state}`)
  return `${paint(screen, 'bold', `${head}${cut(printable(title), Math.max(8, room))}`)} · ${state}`
}

/** What is under way, what waits, and what it has cost, at the right. */
export function planFooter({ status, counts, tasks }: PlanView, screen: Screen, { most, spent }: PlanFacts): string {
  const isOver = status !== 'running'
  const working = tasks.filter((task) => task.status === 'running' && !task.isQueued).length
  const queued = (counts.running ?? 0) - working + (counts.pending ?? 0)
  const agents = `agents ${working}${most === undefined ? '' : `/${most}`}`
  const text = [
    ...(isOver ? [] : [agents]),
    ...(queued > 0 ? [`waiting ${queued}`] : []),
    ...(counts.failed ? [`failed ${counts.failed}`] : []),
    ...(counts.blocked ? [`blocked ${counts.blocked}`] : []),
    ...(spent === undefined ? [] : [moneyWords(spent)]),
  ].join(' · ')
  return paint(screen, counts.failed ? 'red' : 'dim', text.padStart(screen.columns))
}

interface Columns {
  id: number
  /** 0 while nobody has begun: then there is nothing to tell. */
  state: number
  title: number
  agent: number
  /** For everything behind the title. */
  rest: number
}

const secondsWide = 6
/** So that nothing moves sideways when what runs or waits is done. */
const usualState = 4
const widestAgent = 14

function columnsFor(tasks: readonly TaskLine[], columns: number): Columns {
  const widest = (texts: string[]) => Math.max(0, ...texts.map((text) => width(text)))
  const id = widest(tasks.map((task) => String(task.id)))
  const isBegun = tasks.some(({ status }) => status !== 'pending')
  const state = isBegun ? Math.max(usualState, widest(tasks.map(({ status }) => stateWords[status]))) : 0
  const agent = Math.min(widestAgent, widest(tasks.map(({ skill }) => `@${printable(skill)}`)))
  const room = columns - 2 - id - 2 - (isBegun ? state + 1 + secondsWide + 2 : 0)
  const title = Math.min(widest(tasks.map((task) => printable(task.title))), Math.floor(room * (isBegun ? 0.4 : 0.5)))
  return { id, state, title, agent, rest: room - title - 2 }
}

function taskLine(task: TaskLine, screen: Screen, columns: Columns): string {
  const { id, state, title, rest } = columns
  const word = stateWords[task.status]
  const time = task.seconds === undefined ? '' : seconds(task.seconds * 1000)
  const standing =
    state === 0
      ? ''
      : `${paint(screen, colourOf(task.status), word)}${' '.repeat(state - word.length + 1)}${time.padStart(secondsWide)}  `
  const name = filled(printable(task.title), title)
  return `${String(task.id).padStart(id)}  ${standing}${name}  ${restOf(task, screen, columns.agent, rest)}`.trimEnd()
}

/** Behind the title: of what is over what came of it, of the rest who does it, what they do, and what they need. */
function restOf(task: TaskLine, screen: Screen, agentWide: number, room: number): string {
  const result = task.resultId === undefined ? '' : `result:${task.resultId}`
  const end = result === '' ? '' : `  ${paint(screen, 'dim', result)}`
  const left = room - width(end)
  if (isOver(task.status) || task.status === 'failed') {
    const came = printable(cameOf(task))
    return `${result === '' ? cut(came, left) : filled(came, left)}${end}`
  }
  const agent = paint(screen, 'cyan', filled(`@${printable(task.skill)}`, agentWide))
  const doing = task.status === 'running' ? (task.doing ?? '') : afterWords(task.dependsOn)
  const about = cut(printable(doing), Math.max(0, left - agentWide - 2))
  return result === '' ? `${agent}  ${about}` : `${agent}  ${filled(about, Math.max(0, left - agentWide - 2))}${end}`
}

function cameOf({ status, summary = '', reason }: TaskLine): string {
  if (status === 'completed') return withoutLabel(summary)
  // That its run ended is what the state says already; what it said last is more.
  const isOwnEnd = reason === undefined || /^run:\w+ ended: /.test(reason)
  return isOwnEnd && summary !== '' ? summary : (reason ?? '')
}

/** A summary for a narrow column: the label of all that the script says would leave no room for what it says. */
export function withoutLabel(summary: string): string {
  return summary.replace(/^REHEARSAL: /, '')
}

function isOver(status: TaskStatus): boolean {
  return status === 'completed' || status === 'skipped' || status === 'cancelled'
}

/** Cut or filled up to exactly so many columns. */
function filled(text: string, columns: number): string {
  const shown = cut(text, columns)
  return shown + ' '.repeat(Math.max(0, columns - width(shown)))
}

function colourOf(status: TaskStatus): 'green' | 'yellow' | 'red' | 'cyan' | 'dim' {
  if (status === 'completed') return 'green'
  if (status === 'running') return 'cyan'
  if (status === 'failed') return 'red'
  return status === 'blocked' ? 'yellow' : 'dim'
}

interface Shown {
  tasks: { task: TaskLine; bracket: string }[]
  /** What the tasks that are left out amount to: those that are done, and those still to come. */
  top: string[]
  bottom: string[]
}

/** Leaves out the oldest that are done, then the last that wait, until the rest fits. */
function collapse(layers: TaskLine[][], rows: number): Shown {
  const all = layers.flat()
  const hidden = new Set<TaskLine>()
  const [top, bottom]: [string[], string[]] = [[], []]
  let surplus = all.length - rows
  const leaveOut = (kind: TaskLine[], name: string, counts: string[]) => {
    // The count takes a line itself.
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

function bracketed(layer: TaskLine[]): Shown['tasks'] {
  const last = layer.length - 1
  return layer.map((task, at) => ({ task, bracket: last === 0 ? ' ' : at === 0 ? '┌' : at === last ? '└' : '│' }))
}
