import type { Check, Judged } from './check.ts'
import type { Evidence } from './evidence.ts'

/** Looks at every check, one after another: commands of one may not disturb another. The first is always the same. */
export async function judge(checks: readonly Check[], evidence: Evidence): Promise<Judged[]> {
  const judged: Judged[] = []
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
