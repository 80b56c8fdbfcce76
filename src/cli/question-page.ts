import type { ApprovalView } from '../domain/app.ts'
import { tail } from '../domain/id.ts'
import type { TaskLine } from '../domain/plan-views.ts'
import type { Door } from '../gateway/api.ts'
import { cut, paint, printable, type Screen } from './screen.ts'

const mostLines = 40

/** A question as a person must see it to decide: who asks, for what, what will change, and on whose words. */
export function questionPage(
  screen: Screen,
  approval: ApprovalView,
  { whole = false, task }: { whole?: boolean; task?: TaskLine | undefined } = {},
): string {
  const { id, agent, tool, runId, request, trusted } = approval
  const width = Math.max(40, screen.columns - 12)
  const lines = approval.change.split('\n')
  const shown = whole ? lines : lines.slice(0, mostLines)
  const left = lines.length - shown.length
  return [
    `${paint(screen, 'yellow', `approval:${id}`)}  @${printable(agent)} wants ${paint(screen, 'bold', printable(tool))}`,
    fact(screen, 'asked', cut(printable(request), width)),
    fact(screen, 'run', `run:${tail(runId)} in ${printable(approval.folder ?? '–')}`),
    ...(task ? [fact(screen, 'task', cut(taskWords(task), width))] : []),
    fact(screen, 'why', printable(approval.reason)),
    ...(trusted ? [] : [carefulLine(screen, approval)]),
    ...shown.map((line) => `  ${coloured(screen, printable(line))}`),
    ...(left > 0 ? [paint(screen, 'dim', `  … ${left} more lines: heddle show approval:${id}`)] : []),
  ].join('\n')
}

/** The task that a run which asks something is for; undefined for one that is for none. */
export async function taskOf(door: Pick<Door, 'tasks'>, runId: string): Promise<TaskLine | undefined> {
  return (await door.tasks({ status: 'running' })).find((task) => task.runId === runId)
}

function taskWords({ id, planId, title }: TaskLine): string {
  return `task:${id} of plan:${planId}, ${printable(title)}`
}

/** Whose words an agent has read that asks, besides those of people and of this folder. */
export function carefulLine(screen: Screen, { sources }: Pick<ApprovalView, 'sources'>): string {
  const read = `it has read ${sourcesOf(sources, Math.max(40, screen.columns - 12))}`
  return fact(screen, 'careful', paint(screen, 'red', read))
}

/** One line in a list. */
export function questionRow(approval: ApprovalView): string[] {
  const [first = ''] = approval.change.split('\n').filter((line) => line.trim() !== '')
  return [`approval:${approval.id}`, `@${printable(approval.agent)}`, printable(approval.tool), printable(first)]
}

function sourcesOf(sources: string[], width: number): string {
  return cut(sources.map((source) => printable(source)).join(', ') || 'words of strangers', width)
}

function fact(screen: Screen, name: string, value: string): string {
  return `  ${paint(screen, 'dim', name.padEnd(8))}${value}`
}

/** A diff in its colours. */
function coloured(screen: Screen, line: string): string {
  if (line.startsWith('+')) return paint(screen, 'green', line)
  return line.startsWith('-') ? paint(screen, 'red', line) : line
}
