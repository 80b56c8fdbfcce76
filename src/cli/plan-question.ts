import type { ApprovalView } from '../domain/app.ts'
import type { PlanView, TaskView } from '../domain/plan-views.ts'
import { ForeignText } from './foreign-text.ts'
import type { GateState } from './plan-gate.ts'
import { drawPlan } from './plan-graph.ts'
import { carefulLine, factLines } from './question-page.ts'
import { paint, printable, type Screen, wrapped } from './screen.ts'

/** The plan that a question asks to start; undefined for every other question. */
export function planAsked({ tool, input }: Pick<ApprovalView, 'tool' | 'input'>): number | undefined {
  if (tool !== 'run_project' || typeof input !== 'object' || input === null) return undefined
  const id = Number((input as { project_id?: unknown }).project_id)
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

/** A plan that waits for its start, as a person must see it to decide: what it may cost, all of it, and the keys. */
export function planQuestionPage(
  screen: Screen,
  approval: ApprovalView,
  plan: PlanView,
  { most }: { most: number },
): string[] {
  const drawn = drawPlan({ ...plan, status: 'proposed' }, { ...screen, rows: Number.POSITIVE_INFINITY }, { most })
  const all = drawn.join('\n')
  // The drawing has room for so much of a title; what it cuts is told whole.
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
  return `${key('[Enter]')} run   ${key('e')} edit   ${key('v')} briefs   ${key('n')} no   or say what shall be different`
}

/** What stands before the line in which the answer is typed. */
export function gatePrompt(plan: number, state: GateState): string {
  if (state.at === 'which') return 'which task> '
  return state.at === 'how' ? `task ${state.task}: b/d/@name> ` : `plan:${plan} Enter/e/v/n> `
}

/** Briefs as their agents read them. */
export function briefsPage(screen: Screen, tasks: readonly TaskView[]): string {
  return tasks
    .map(({ id, title, skill, context }) => {
      const head = `${paint(screen, 'bold', `${id}  ${printable(title)}`)}  ${paint(screen, 'cyan', `@${printable(skill)}`)}`
      const rows = wrapped(printable(context.trimEnd(), { lines: true }), screen.columns - 4, { words: true })
      return [head, ...rows.map((row) => `    ${row}`.trimEnd())].join('\n')
    })
    .join('\n\n')
}
