import type { Persona } from '../../domain/persona.ts'
import type { Reading, Tx } from '../store.ts'
import type { Tables } from '../tables.ts'

/** Writes a persona, replacing the one of that name. */
export async function putPersona(tx: Tx, persona: Persona, now: number): Promise<void> {
  const row = {
    identity_json: JSON.stringify(persona.identity),
    permissions_json: JSON.stringify(persona.permissions),
    default_model_config_json: persona.defaultModelConfig ? JSON.stringify(persona.defaultModelConfig) : null,
    updated_at: now,
  }
  await tx.run(
    tx.build
      .insertInto('personas')
      .values({ id: persona.id, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row)),
  )
}

export async function findPersona(rows: Reading, id: string): Promise<Persona | undefined> {
  const row = await rows.first(rows.build.selectFrom('personas').selectAll().where('id', '=', id))
  return row && personaFrom(row)
}

export async function listPersonas(rows: Reading): Promise<Persona[]> {
  return (await rows.all(rows.build.selectFrom('personas').selectAll().orderBy('id'))).map(personaFrom)
}

function personaFrom(row: Tables['personas']): Persona {
  return {
    id: row.id,
    identity: JSON.parse(row.identity_json),
    permissions: JSON.parse(row.permissions_json),
    ...(row.default_model_config_json && { defaultModelConfig: JSON.parse(row.default_model_config_json) }),
  }
}
