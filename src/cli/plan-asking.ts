import type { Decision } from '../domain/approval.ts'
import type { Door } from '../gateway/api.ts'
import type { Here } from './cli.ts'
import { type Passed, PlanGate } from './plan-deciding.ts'
import { planQuestionPage } from './plan-question.ts'
import { askLine } from './prompt.ts'
import { complaint } from './talk-lines.ts'

/**
 * Shows a plan that waits for its start on the terminal until it is answered; it can be looked at and changed before.
 * Undefined when the person leaves instead, `answered` when somebody else was faster.
 */
export async function askAboutPlan(
  here: Here,
  door: Door,
  asked: { approval: number; plan: number },
  signal: AbortSignal,
): Promise<Decision | 'answered' | undefined> {
  const { agents } = await (await import('./set-up.ts')).load(here)
  const around = {
    here,
    ask: <T>(what: (door: Door) => Promise<T>) => what(door),
    print: here.tell,
    lend: <T>(use: () => Promise<T>) => use(),
  }
  for (;;) {
    const question = (await door.approvals()).find(({ id }) => id === asked.approval)
    if (!question) return 'answered'
    const plan = await door.plan(`plan:${asked.plan}`)
    const page = planQuestionPage(here.screen, question, plan, { most: agents.maxConcurrent })
    const gate = new PlanGate(plan, around, page)
    here.tell(gate.begin())
    for (let passed: Passed | undefined = 'open'; passed !== 'changed'; ) {
      const typed = await askLine(here, gate.prompt, signal).catch(() => undefined)
      if (typed === undefined) return undefined
      passed = await gate.take(typed).catch((error: unknown): Passed => {
        here.tell(complaint(here.screen, error, ''))
        return 'open'
      })
      if (passed === undefined) here.tell('answer first: Enter, e, v, n, or say what shall be different')
      if (typeof passed === 'object') return { ...passed, hash: question.hash }
    }
  }
}
