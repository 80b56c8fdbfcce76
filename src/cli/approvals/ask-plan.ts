import type { Decision } from '../../domain/approval.ts'
import type { Client } from '../../gateway/api.ts'
import { errorNotice } from '../chat/talk-lines.ts'
import type { CommandContext } from '../command.ts'
import { askLine } from '../terminal/prompt.ts'
import { type GateResult, PlanGate } from './answer-plan.ts'
import { planQuestionPage } from './plan-question.ts'

/**
 * Asks on the terminal whether to start a plan; the user can view and change it first. Undefined when the user leaves,
 * `answered` when it was answered elsewhere meanwhile.
 */
export async function askAboutPlan(
  here: CommandContext,
  client: Client,
  target: { approval: number; plan: number },
  signal: AbortSignal,
): Promise<Decision | 'answered' | undefined> {
  const { agents } = await (await import('../commands/set-up.ts')).load(here)
  const context = {
    here,
    ask: <T>(what: (client: Client) => Promise<T>) => what(client),
    print: here.tell,
    lend: <T>(use: () => Promise<T>) => use(),
  }
  for (;;) {
    const question = (await client.approvals()).find(({ id }) => id === target.approval)
    if (!question) return 'answered'
    const plan = await client.plan(`plan:${target.plan}`)
    const page = planQuestionPage(here.screen, question, plan, { maxAgents: agents.maxConcurrent })
    const gate = new PlanGate(plan, context, page)
    here.tell(gate.begin())
    for (let result: GateResult | undefined = 'open'; result !== 'changed'; ) {
      const typed = await askLine(here, gate.prompt, signal).catch(() => undefined)
      if (typed === undefined) return undefined
      result = await gate.take(typed).catch((error: unknown): GateResult => {
        here.tell(errorNotice(here.screen, error, ''))
        return 'open'
      })
      if (result === undefined) here.tell('answer first: Enter, e, v, n, or type what to change')
      if (typeof result === 'object') return { ...result, hash: question.hash }
    }
  }
}
