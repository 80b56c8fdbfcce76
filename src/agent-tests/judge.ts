import type { Check, JudgedCheck } from './check.ts'
import type { Evidence } from './evidence.ts'

/** Runs all checks in sequence, so that their commands do not disturb each other. The first is always `finished`. */
export async function judge(checks: readonly Check[], evidence: Evidence): Promise<JudgedCheck[]> {
  const judged: JudgedCheck[] = []
  for (const check of [finished, ...checks]) {
    const { ok, saw } = await check.look(evidence)
    judged.push({ check: check.kind, says: check.says, wants: check.wants, ok, saw })
  }
  return judged
}

const finished: Check = {
  kind: 'finished',
  says: 'the agent finished its task',
  wants: 'the agent finished its task',
  look: ({ state, why }) => ({ ok: state === 'completed', saw: why === '' ? state : `${state}: ${why}` }),
}
