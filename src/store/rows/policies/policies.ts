import type { Selectable } from 'kysely'
import type { Millis } from '../../../domain/clock.ts'
import { raw } from '../../raw.ts'
import { statement } from '../../statement.ts'
import type { Reading, Tx } from '../../store.ts'
import type { Tables } from '../../tables.ts'

export type ResourceType = 'policy' | 'profile'

/** A profile, the registry or a pin, as it is now. */
export interface PolicyRecord {
  type: ResourceType
  id: string
  version: number
  value: unknown
  updatedAt: Millis
  updatedBy: string
}

/** One version of a record; null for its removal. */
export interface PolicyVersion {
  version: number
  value: unknown
  at: Millis
  by: string
}

/** Serializes changes of policies: what is read after this stays true until the transaction ends. */
export async function takePolicyLock(tx: Tx): Promise<void> {
  await tx.all(policyLock({}))
}

export async function findPolicy(rows: Reading, type: ResourceType, id: string): Promise<PolicyRecord | undefined> {
  const row = await rows.first(byId({ type, id }))
  return row && recordFrom(row)
}

/** All records of a type, by id; of several ids only those. */
export async function listPolicies(
  rows: Reading,
  type: ResourceType,
  { ids }: { ids?: readonly string[] } = {},
): Promise<PolicyRecord[]> {
  if (ids?.length === 0) return []
  let query = rows.build.selectFrom('policies').selectAll().where('resource_type', '=', type).orderBy('resource_id')
  if (ids) query = query.where('resource_id', 'in', ids)
  return (await rows.all(query)).map(recordFrom)
}

/** Ids of all records of a type. */
export async function policyIds(rows: Reading, type: ResourceType): Promise<Set<string>> {
  const query = rows.build.selectFrom('policies').select('resource_id').where('resource_type', '=', type)
  return new Set((await rows.all(query)).map(({ resource_id }) => resource_id))
}

/** The policies that a run needs, and the version of each; the value is left out if the caller knows this version. */
export async function policiesOfRun(
  rows: Reading,
  ids: { registry: string; known: number; session: string; user: string; workspace: string; global: string },
): Promise<{ id: string; version: number; value: string | null }[]> {
  return rows.all(ofRun(ids))
}

/** The version that the next change of a record has: a record that is made again goes on counting. */
export async function nextPolicyVersion(tx: Tx, type: ResourceType, id: string): Promise<number> {
  const query = tx.build
    .selectFrom('policy_versions')
    .select((each) => each.fn.max('version').as('last'))
    .where('resource_type', '=', type)
    .where('resource_id', '=', id)
  return Number((await tx.first(query))?.last ?? 0) + 1
}

/** Writes a record and its version; the policy lock must be held. */
export async function putPolicy(tx: Tx, record: PolicyRecord): Promise<void> {
  const { type, id, version, updatedAt, updatedBy } = record
  const row = {
    version,
    value_json: JSON.stringify(record.value),
    updated_at: updatedAt,
    updated_by: updatedBy,
  }
  await tx.run(
    tx.build
      .insertInto('policies')
      .values({ resource_type: type, resource_id: id, ...row })
      .onConflict((conflict) => conflict.columns(['resource_type', 'resource_id']).doUpdateSet(row)),
  )
  await insertVersion(tx, record, row.value_json)
}

/** Removes a record; its versions stay, and the removal is one. The policy lock must be held. */
export async function deletePolicy(tx: Tx, record: Omit<PolicyRecord, 'value'>): Promise<void> {
  const { type, id } = record
  await tx.run(tx.build.deleteFrom('policies').where('resource_type', '=', type).where('resource_id', '=', id))
  await insertVersion(tx, record, null)
}

/** Versions of a record, newest first. */
export async function listPolicyVersions(
  rows: Reading,
  type: ResourceType,
  id: string,
  limit: number,
): Promise<PolicyVersion[]> {
  const query = rows.build
    .selectFrom('policy_versions')
    .selectAll()
    .where('resource_type', '=', type)
    .where('resource_id', '=', id)
    .orderBy('version', 'desc')
    .limit(limit)
  return (await rows.all(query)).map((row) => ({
    version: row.version,
    value: row.value_json === null ? null : JSON.parse(row.value_json),
    at: row.at,
    by: row.by_principal,
  }))
}

/** The value of one version of a record; null if it was a removal, or never was. */
export async function findPolicyVersion(
  rows: Reading,
  type: ResourceType,
  id: string,
  version: number,
): Promise<unknown> {
  const { value_json = null } = (await rows.first(oneVersion({ type, id, version }))) ?? {}
  return value_json === null ? null : JSON.parse(value_json)
}

async function insertVersion(tx: Tx, record: Omit<PolicyRecord, 'value'>, value: string | null): Promise<void> {
  await tx.run(
    tx.build.insertInto('policy_versions').values({
      resource_type: record.type,
      resource_id: record.id,
      version: record.version,
      value_json: value,
      at: record.updatedAt,
      by_principal: record.updatedBy,
    }),
  )
}

const policyLock = statement((db, _arg: object, dialect) => raw<object>(db, dialect.policyLock))

const byId = statement((db, arg: { type: ResourceType; id: string }) =>
  db.selectFrom('policies').selectAll().where('resource_type', '=', arg.type).where('resource_id', '=', arg.id),
)

const ofRun = statement(
  (db, arg: { registry: string; known: number; session: string; user: string; workspace: string; global: string }) =>
    db
      .selectFrom('policies')
      .select(({ eb, and }) => [
        'resource_id as id',
        'version',
        eb
          .case()
          .when(and([eb('resource_id', '=', arg.registry), eb('version', '=', arg.known)]))
          .then(null)
          .else(eb.ref('value_json'))
          .end()
          .as('value'),
      ])
      .where('resource_type', '=', 'policy')
      .where('resource_id', 'in', [arg.registry, arg.session, arg.user, arg.workspace, arg.global]),
)

const oneVersion = statement((db, arg: { type: ResourceType; id: string; version: number }) =>
  db
    .selectFrom('policy_versions')
    .select('value_json')
    .where('resource_type', '=', arg.type)
    .where('resource_id', '=', arg.id)
    .where('version', '=', arg.version),
)

function recordFrom(row: Selectable<Tables['policies']>): PolicyRecord {
  return {
    type: row.resource_type,
    id: row.resource_id,
    version: row.version,
    value: JSON.parse(row.value_json),
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  }
}
