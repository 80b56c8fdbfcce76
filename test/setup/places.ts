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
export interface TestWorld extends World {
  place: Place
  /** Closes the store and opens the same place again. */
  restart(): Promise<void>
  remove(): Promise<void>
}

export async function newWorld(
  database: Database,
  options: OpenOptions & Partial<StoreContext> = {},
): Promise<TestWorld> {
  const { place, remove } = newPlace(database)
  const open = () => openStore(place, { ...context, ...options }, options)
  const world: TestWorld = {
    store: await open(),
    place,
    clock: options.clock ?? systemClock,
    newId: idSource(options.clock ?? systemClock, options.random ?? systemRandom),
    async restart() {
      await world.store.close()
      world.store = await open()
    },
    async remove() {
      await world.store.close()
      await remove()
    },
  }
  return world
}

async function dropSchema(schema: string): Promise<void> {
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  // A restore keeps the old schema under a name that begins like the new one's.
  const { rows } = await client.query('SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)', [schema])
  for (const { nspname } of rows) await client.query(`DROP SCHEMA ${nspname} CASCADE`)
  await client.end()
}
