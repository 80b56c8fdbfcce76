import type { ApprovalView } from '../../api/views/approval.ts'
import type { TaskLine } from '../../api/views/plan.ts'
import { budgetTool, type Fact } from '../../domain/approval.ts'
import { shortId } from '../../domain/id.ts'
import { groupDigits } from '../../domain/text/group-digits.ts'
import { escapeInvisible, quotePath } from '../../domain/text/visible.ts'
import type { Client } from '../../gateway/api.ts'
import { paint, printable, type Screen, truncateToWidth, wrapText } from '../terminal/screen.ts'
import { describeScopes } from './describe-scopes.ts'
import { ForeignText } from './foreign-text.ts'

const nameWidth = 9

/** A question for command output: the facts, and the first `max` rows of the text. */
export function questionPage(screen: Screen, approval: ApprovalView, { max }: { max: number }): string {
  const text = new ForeignText(screen, approval.change)
  const shown = text.rows(max)
  const left = text.isSeen
    ? []
    : [paint(screen, 'dim', `  … ${countLines(text.linesLeft)} more: heddle show approval:${approval.id}`)]
  return [...questionFacts(screen, approval), ...shown, ...left].join('\n')
}

/** Everything about a question, with the answer or the commands that answer it. */
export function wholeQuestion(screen: Screen, approval: ApprovalView): string {
  const page = questionPage(screen, approval, { max: Number.POSITIVE_INFINITY })
  return approval.answer === undefined
    ? [
        page,
        ...scopeLines(screen, approval),
        `${approveLine(approval)}    heddle deny ${approval.id} --reason "…"`,
      ].join('\n')
    : `${page}\n${factLines(screen, { name: 'answered', value: answeredWords(approval) }).join('\n')}`
}

/** Calls that a yes with a wider scope would cover. */
function scopeLines(screen: Screen, approval: ApprovalView): string[] {
  const { covered, ...who } = describeScopes(approval)
  return (['session', 'agent'] as const)
    .filter((scope) => approval.scopes.includes(scope))
    .flatMap((scope) => factLines(screen, { name: 'scope', value: `--scope ${scope}: ${who[scope]}: ${covered}` }))
}

/** The command that approves exactly what is shown. */
export function approveLine({ id, hash }: Pick<ApprovalView, 'id' | 'hash'>): string {
  return `heddle approve ${id} --hash ${hash.slice(0, 12)}`
}

interface FactsShown {
  task?: TaskLine | undefined
  /** Max rows per fact: a long one must not push the others off the screen. */
  max?: number
}

/** The runtime's own facts about a call, before any untrusted text: agent, tool, limits, place, and reason. */
export function questionFacts(
  screen: Screen,
  approval: ApprovalView,
  { task, max = Number.POSITIVE_INFINITY }: FactsShown = {},
): string[] {
  const { id, agent, tool, runId, request, reason, facts, trusted, folder } = approval
  const room = Math.max(40, screen.columns - 2 - nameWidth)
  const isPlaced = facts.some(({ name }) => name === 'where')
  const known: Fact[] = [
    ...facts,
    { name: 'why', value: reason },
    ...(trusted ? [] : [{ name: 'careful', value: `it has read ${sourcesOf(approval)}` }]),
    { name: 'asked', value: truncateToWidth(escapeLine(request), room) },
    {
      name: 'run',
      value: `run:${shortId(runId)}${isPlaced ? '' : ` in ${folder === null || folder === undefined ? '–' : quotePath(folder)}`}`,
    },
    ...(task ? [{ name: 'task', value: truncateToWidth(taskWords(task), room) }] : []),
  ]
  const wanted = paint(screen, 'bold', tool === budgetTool ? 'a larger budget' : escapeLine(tool))
  const wants = `@${escapeLine(agent)} ${tool === budgetTool ? 'needs' : 'wants'} ${wanted}`
  return [
    `${paint(screen, 'yellow', `approval:${id}`)}  ${wants}`,
    ...known.flatMap((fact) => shortened(screen, fact, { max, id })),
  ]
}

/** A fact in at most `max` rows; the last one says how much is missing, and which command shows it. */
function shortened(screen: Screen, fact: Fact, { max, id }: { max: number; id: number }): string[] {
  const rows = factLines(screen, fact)
  if (rows.length <= max) return rows
  const hang = ' '.repeat(2 + nameWidth)
  const cutOff = factLines({ ...screen, color: false }, fact).slice(max - 1)
  const characters = cutOff.reduce((sum, row) => sum + [...row.slice(hang.length)].length, 0)
  const missing = `… ${groupDigits(characters)} more characters, heddle show approval:${id} shows all`
  return [...rows.slice(0, max - 1), hang + paint(screen, 'yellow', missing)]
}

/** A fact over as many rows as it needs. Continued rows are indented, so that none can look like another fact. */
export function factLines(screen: Screen, { name, value, isLoud = false }: Fact & { isLoud?: boolean }): string[] {
  const label = `  ${paint(screen, 'dim', escapeLine(name).padEnd(nameWidth - 1))} `
  const shown =
    isLoud || loud.has(name) || /^WITHOUT A SANDBOX/.test(value)
      ? paint(screen, 'red', escapeLine(value))
      : escapeLine(value)
  return wrapText(label + shown, screen.columns, { words: true, hang: ' '.repeat(2 + nameWidth) })
}

const loud = new Set(['changed', 'careful', 'lapsed'])

/** The running task of a run; undefined if it has none. */
export async function taskOf(client: Pick<Client, 'tasks'>, runId: string): Promise<TaskLine | undefined> {
  return (await client.tasks({ status: 'running' })).find((task) => task.runId === runId)
}

/** Warning that names the untrusted sources an agent has read. */
export function carefulLine(screen: Screen, approval: Pick<ApprovalView, 'sources'>): string {
  return factLines(screen, { name: 'careful', value: `it has read ${sourcesOf(approval)}` }).join('\n')
}

/** Cells of a question in a list. */
export function questionRow(approval: ApprovalView): string[] {
  const [first = ''] = approval.change.split('\n', 50).filter((line) => line.trim() !== '')
  return [
    `approval:${approval.id}`,
    `@${escapeLine(approval.agent)}`,
    escapeLine(approval.tool),
    escapeLine(first.slice(0, 500)),
  ]
}

export function countLines(count: number): string {
  return count === 1 ? '1 line' : `${groupDigits(count)} lines`
}

function taskWords({ id, planId, title }: TaskLine): string {
  return `task:${id} of plan:${planId}, ${escapeLine(title)}`
}

function sourcesOf({ sources }: Pick<ApprovalView, 'sources'>): string {
  return sources.map(escapeLine).join(', ') || 'untrusted content'
}

function answeredWords({ answer, answerReason }: ApprovalView): string {
  const words = { once: 'yes', session: 'yes, in this session', agent: 'yes, for this agent', no: 'no' }[answer ?? 'no']
  return answerReason === undefined ? words : `${words}: ${answerReason}`
}

/** Untrusted text in one line, with invisible characters shown. */
function escapeLine(text: string): string {
  return printable(escapeInvisible(text))
}
