import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import {
  deletePolicy,
  findPolicy,
  nextPolicyVersion,
  type PolicyRecord,
  putPolicy,
  type ResourceType,
} from '../../store/rows/policies/policies.ts'
import type { Tx } from '../../store/store.ts'

/** Author and time of a change, and the version that it is based on. */
export interface PolicyChange {
  /** Text form of the principal. */
  by: string
  now: Millis
  /** The version that the change is based on, 0 for none; left out, any. */
  expected?: number | undefined
}

/** A record, by words that an error can use. */
interface PolicyName {
  type: ResourceType
  id: string
  /** Such as "the registry". */
  called: string
}

/** Writes a record, unless it was changed meanwhile or is the same already. The policy lock must be held. */
export async function changePolicy(
  tx: Tx,
  name: PolicyName,
  value: unknown,
  { by, now, expected }: PolicyChange,
): Promise<PolicyRecord> {
  const { type, id } = name
  const before = await findPolicy(tx, type, id)
  assertVersion(name, before, expected)
  if (before && JSON.stringify(before.value) === JSON.stringify(value)) return before
  const version = await nextPolicyVersion(tx, type, id)
  const record = { type, id, version, value, updatedAt: now, updatedBy: by }
  await putPolicy(tx, record)
  return record
}

/** Removes a record, unless it was changed meanwhile; undefined if there is none. The policy lock must be held. */
export async function removePolicy(
  tx: Tx,
  name: PolicyName,
  { by, now, expected }: PolicyChange,
): Promise<{ version: number } | undefined> {
  const { type, id } = name
  const before = await findPolicy(tx, type, id)
  assertVersion(name, before, expected)
  if (!before) return undefined
  const version = await nextPolicyVersion(tx, type, id)
  await deletePolicy(tx, { type, id, version, updatedAt: now, updatedBy: by })
  return { version }
}

function assertVersion({ called }: PolicyName, before: PolicyRecord | undefined, expected: number | undefined): void {
  const current = before?.version ?? 0
  if (expected === undefined || expected === current) return
  const now = before ? `it is at version ${current} now, by ${before.updatedBy}` : 'it does not exist now'
  throw new HeddleError(
    'changed_meanwhile',
    `${called} has changed since you read it: you have version ${expected}, and ${now}`,
    'read it again, reapply your change, and retry',
  )
}
