import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { idSource } from '../../src/domain/id.ts'
import type { World } from '../../src/engine/world.ts'
import { type OpenOptions, openStore, type Place } from '../../src/store/open.ts'
import type { StoreContext } from '../../src/store/store.ts'
import { systemClock, systemRandom } from '../../src/system.ts'

/** Both databases: whatever holds for a store is shown on each. */
export const databases = ['sqlite', 'postgres'] as const
export type Database = (typeof databases)[number]

/** An empty place of its own; `remove` leaves nothing behind. */
export function newPlace(database: Database): { place: Place; remove: () => Promise<void> } {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-test-'))
  if (database === 'sqlite') {
    return {
      place: { kind: 'sqlite', file: join(directory, 'heddle.db'), durability: 'full' },
      remove: async () => rmSync(directory, { recursive: true, force: true }),
    }
  }
  rmSync(directory, { recursive: true })
  const schema = `t_${Buffer.from(systemRandom.bytes(8)).toString('hex')}`
  const url = `${inject('postgresUrl')}?schema=${schema}`
  return { place: { kind: 'postgres', url }, remove: () => dropSchema(schema) }
}

/** Real time and chance, and no crash. */
export const context: StoreContext = { clock: systemClock, random: systemRandom, crash: () => undefined }

/** A store on an empty place, with what the engine needs around it. */
export async function newWorld(
  database: Database,
  options: OpenOptions & Partial<StoreContext> = {},
): Promise<World & { place: Place; remove: () => Promise<void> }> {
  const { place, remove } = newPlace(database)
  const store = await openStore(place, { ...context, ...options }, options)
  return {
    store,
    place,
    clock: options.clock ?? systemClock,
    newId: idSource(options.clock ?? systemClock, options.random ?? systemRandom),
    async remove() {
      await store.close()
      await remove()
    },
  }
}

async function dropSchema(schema: string): Promise<void> {
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await client.end()
}
