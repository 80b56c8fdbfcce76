import type { ApprovalView } from '../../api/views/approval.ts'
import type { PlanView, TaskView } from '../../api/views/plan.ts'
import { drawPlan } from '../pages/plan-graph.ts'
import { paint, printable, type Screen, wrapText } from '../terminal/screen.ts'
import { ForeignText } from './foreign-text.ts'
import type { GateState } from './plan-gate.ts'
import { carefulLine, factLines } from './question-page.ts'

/** The plan that an approval would start; undefined for other approvals. */
export function planToStart({ tool, input }: Pick<ApprovalView, 'tool' | 'input'>): number | undefined {
  if (tool !== 'run_project' || typeof input !== 'object' || input === null) return undefined
  const id = Number((input as { project_id?: unknown }).project_id)
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

/** The page of a plan that waits to be started: facts and cost, all tasks, and the keys. */
export function planQuestionPage(
  screen: Screen,
  approval: ApprovalView,
  plan: PlanView,
  { maxAgents }: { maxAgents: number },
): string[] {
  const drawn = drawPlan({ ...plan, status: 'proposed' }, { ...screen, rows: Number.POSITIVE_INFINITY }, { maxAgents })
  const all = drawn.join('\n')
  // Titles that the drawing cuts are listed in full below it.
  const cut = plan.tasks.filter(({ title }) => !all.includes(printable(title)))
  const titles = [
    ...(all.includes(printable(plan.title)) ? [] : [plan.title]),
    ...cut.map(({ id, title }) => `${id}  ${printable(title)}`),
  ]
  const whole = new ForeignText(screen, titles.join('\n'))
  return [
    ...approval.facts.filter(({ name }) => name !== 'plan').flatMap((fact) => factLines(screen, fact)),
    ...(approval.trusted ? [] : carefulLine(screen, approval).split('\n')),
    ...drawn,
    ...(titles.length > 0 ? whole.rows(Number.POSITIVE_INFINITY) : []),
    gateKeys(screen),
  ]
}

function gateKeys(screen: Screen): string {
  const key = (name: string) => paint(screen, 'bold', name)
  return `${key('[Enter]')} run   ${key('e')} edit   ${key('v')} briefs   ${key('n')} no   or type what to change`
}

/** Prompt of the line in which the answer is typed. */
export function gatePrompt(plan: number, state: GateState): string {
  if (state.at === 'which') return 'which task> '
  return state.at === 'how' ? `task ${state.task}: b/d/@name> ` : `plan:${plan} Enter/e/v/n> `
}

/** The full briefs of tasks. */
export function briefsPage(screen: Screen, tasks: readonly TaskView[]): string {
  return tasks
    .map(({ id, title, skill, context }) => {
      const head = `${paint(screen, 'bold', `${id}  ${printable(title)}`)}  ${paint(screen, 'cyan', `@${printable(skill)}`)}`
      const rows = wrapText(printable(context.trimEnd(), { lines: true }), screen.columns - 4, { words: true })
      return [head, ...rows.map((row) => `    ${row}`.trimEnd())].join('\n')
    })
    .join('\n\n')
}
