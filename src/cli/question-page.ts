import type { ApprovalView } from '../domain/app.ts'
import { budgetTool, type Fact } from '../domain/approval.ts'
import { tail } from '../domain/id.ts'
import type { TaskLine } from '../domain/plan-views.ts'
import { shownPath, visible } from '../domain/visible.ts'
import type { Door } from '../gateway/api.ts'
import { ForeignText } from './foreign-text.ts'
import { cut, paint, printable, type Screen, wrapped } from './screen.ts'

const nameWidth = 9

/** A question as a list of commands shows it: the facts, and the text of others as far as there is room for it. */
export function questionPage(screen: Screen, approval: ApprovalView, { most }: { most: number }): string {
  const text = new ForeignText(screen, approval.change)
  const shown = text.rows(most)
  const left = text.isSeen
    ? []
    : [paint(screen, 'dim', `  … ${lines(text.linesLeft)} more: heddle show approval:${approval.id}`)]
  return [...questionFacts(screen, approval), ...shown, ...left].join('\n')
}

/** Everything about a question, to be read elsewhere than at its prompt. */
export function wholeQuestion(screen: Screen, approval: ApprovalView): string {
  const page = questionPage(screen, approval, { most: Number.POSITIVE_INFINITY })
  return approval.answer === undefined
    ? `${page}\n${approveLine(approval)}    heddle deny ${approval.id} --reason "…"`
    : `${page}\n${factLines(screen, { name: 'answered', value: answeredWords(approval) }).join('\n')}`
}

/** The command that approves exactly what is shown. */
export function approveLine({ id, hash }: Pick<ApprovalView, 'id' | 'hash'>): string {
  return `heddle approve ${id} --hash ${hash.slice(0, 12)}`
}

export interface FactsShown {
  task?: TaskLine | undefined
  /** Rows that each fact may take at most: a long one must not push the others off the screen. */
  most?: number
}

/** What the runtime says about a call, before any text of others: who wants what, what bounds it, where, and why it asks. */
export function questionFacts(
  screen: Screen,
  approval: ApprovalView,
  { task, most = Number.POSITIVE_INFINITY }: FactsShown = {},
): string[] {
  const { id, agent, tool, runId, request, reason, facts, trusted, folder } = approval
  const room = Math.max(40, screen.columns - 2 - nameWidth)
  const isPlaced = facts.some(({ name }) => name === 'where')
  const known: Fact[] = [
    ...facts,
    { name: 'why', value: reason },
    ...(trusted ? [] : [{ name: 'careful', value: `it has read ${sourcesOf(approval)}` }]),
    { name: 'asked', value: cut(oneLine(request), room) },
    {
      name: 'run',
      value: `run:${tail(runId)}${isPlaced ? '' : ` in ${folder === null || folder === undefined ? '–' : shownPath(folder)}`}`,
    },
    ...(task ? [{ name: 'task', value: cut(taskWords(task), room) }] : []),
  ]
  const wanted = paint(screen, 'bold', tool === budgetTool ? 'a larger budget' : oneLine(tool))
  const wants = `@${oneLine(agent)} ${tool === budgetTool ? 'needs' : 'wants'} ${wanted}`
  return [
    `${paint(screen, 'yellow', `approval:${id}`)}  ${wants}`,
    ...known.flatMap((fact) => shortened(screen, fact, { most, id })),
  ]
}

/** A fact in at most so many rows; the last one tells how much is missing, and where all of it is. */
function shortened(screen: Screen, fact: Fact, { most, id }: { most: number; id: number }): string[] {
  const rows = factLines(screen, fact)
  if (rows.length <= most) return rows
  const hang = ' '.repeat(2 + nameWidth)
  const cutOff = factLines({ ...screen, color: false }, fact).slice(most - 1)
  const characters = cutOff.reduce((sum, row) => sum + [...row.slice(hang.length)].length, 0)
  const missing = `… ${characters.toLocaleString('en')} more characters, heddle show approval:${id} shows all`
  return [...rows.slice(0, most - 1), hang + paint(screen, 'yellow', missing)]
}

/** A fact, over as many rows as it needs: none of them begins where a name could. */
export function factLines(screen: Screen, { name, value, isLoud = false }: Fact & { isLoud?: boolean }): string[] {
  const label = `  ${paint(screen, 'dim', oneLine(name).padEnd(nameWidth - 1))} `
  const told =
    isLoud || loud.has(name) || /^WITHOUT A SANDBOX/.test(value) ? paint(screen, 'red', oneLine(value)) : oneLine(value)
  return wrapped(label + told, screen.columns, { words: true, hang: ' '.repeat(2 + nameWidth) })
}

const loud = new Set(['changed', 'careful', 'lapsed'])

/** The task that a run which asks something is for; undefined for one that is for none. */
export async function taskOf(door: Pick<Door, 'tasks'>, runId: string): Promise<TaskLine | undefined> {
  return (await door.tasks({ status: 'running' })).find((task) => task.runId === runId)
}

/** Whose words an agent has read that asks, besides those of people and of this folder. */
export function carefulLine(screen: Screen, approval: Pick<ApprovalView, 'sources'>): string {
  return factLines(screen, { name: 'careful', value: `it has read ${sourcesOf(approval)}` }).join('\n')
}

/** One line in a list. */
export function questionRow(approval: ApprovalView): string[] {
  const [first = ''] = approval.change.split('\n', 50).filter((line) => line.trim() !== '')
  return [
    `approval:${approval.id}`,
    `@${oneLine(approval.agent)}`,
    oneLine(approval.tool),
    oneLine(first.slice(0, 500)),
  ]
}

export function lines(count: number): string {
  return count === 1 ? '1 line' : `${count.toLocaleString('en')} lines`
}

function taskWords({ id, planId, title }: TaskLine): string {
  return `task:${id} of plan:${planId}, ${oneLine(title)}`
}

function sourcesOf({ sources }: Pick<ApprovalView, 'sources'>): string {
  return sources.map(oneLine).join(', ') || 'words of strangers'
}

function answeredWords({ answer, answerReason }: ApprovalView): string {
  const said = { once: 'yes', session: 'yes, in this session', agent: 'yes, for this agent', no: 'no' }[answer ?? 'no']
  return answerReason === undefined ? said : `${said}: ${answerReason}`
}

/** Words that may come from anywhere, in one line that holds nothing invisible. */
function oneLine(text: string): string {
  return printable(visible(text))
}
