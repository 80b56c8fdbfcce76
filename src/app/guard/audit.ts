import { hash } from 'node:crypto'
import { isOwner } from '../../domain/access/principal.ts'
import { toStorable } from '../../domain/text/storable.ts'
import type { Runtime } from '../../engine/runtime.ts'
import { deleteAudit, insertAudit, setAuditOutcome } from '../../store/rows/access/audit.ts'
import type { Caller } from './caller.ts'
import { actionOf, isChange, type Rule } from './rule.ts'

/** A resource is what the caller wrote: only its beginning is kept. */
const maxResource = 200

/**
 * Writes a line before a change is made, and returns what sets its outcome: a process that dies in between leaves `begun`,
 * never a change without a line. Undefined for what is not audited.
 */
export async function beginAudit(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  caller: Caller,
  rule: Rule<unknown[]>,
  args: unknown[],
): Promise<((outcome: string) => Promise<void>) | undefined> {
  const action = actionOf(rule, args)
  if (!isChange(action) || (isOwner(caller.principal) && !rule.audited?.(...args))) return undefined
  const text = rule.text?.(...args)
  const resource = rule.about?.(...args)
  const line = {
    at: clock.now(),
    principal: caller.text,
    action,
    resource: resource === undefined ? null : toStorable(resource.slice(0, maxResource)),
    outcome: 'begun',
    detail: text === undefined ? null : fingerprint(text),
  }
  const seq = await store.write('access', (tx) => insertAudit(tx, line))
  return (outcome) =>
    store.write('access', (tx) =>
      // What the owner mistyped changed nothing; what others tried is worth knowing.
      outcome !== 'ok' && isOwner(caller.principal) ? deleteAudit(tx, seq) : setAuditOutcome(tx, seq, outcome),
    )
}

function fingerprint(text: string): string {
  return `${text.length} characters, sha256 ${hash('sha256', text)}`
}
