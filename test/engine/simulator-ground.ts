import { sql } from 'kysely'
import type { Engine } from '../../src/engine/runtime.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openStore } from '../../src/store/open.ts'
import { raw } from '../../src/store/raw.ts'
import type { Store } from '../../src/store/store.ts'
import { seededRandom } from '../../src/testing.ts'
import { newEngine } from './engine.ts'

/** One database for many worlds, one after another: making it anew each time would be most of the work. */
export interface Ground {
  engine: Engine
  store: Store
  /** Takes everything away that a world has left. */
  clear(): Promise<void>
  remove(): Promise<void>
}

export async function newGround(): Promise<Ground> {
  const under = await newEngine('sqlite', scriptedModel([]))
  const { place } = under.runtime
  if (place.kind !== 'sqlite') throw new Error('a simulated world needs a database that never waits')
  // Each batch of this store is one body, whatever time it is.
  const clock = { now: () => 0, monotonic: () => 0, sleep: async () => undefined }
  const context = { clock, random: seededRandom(0), crash: () => undefined }
  const store = await openStore({ ...place, durability: 'normal' }, context)
  const emptied = [
    ...(await store.snapshot((rows) => rows.tables())).filter((name) => name !== 'meta'),
    'sqlite_sequence',
  ]
  return {
    engine: under.engine,
    store,
    clear: () =>
      store.write('prune', async (tx) => {
        await tx.all(raw(tx.build, sql`PRAGMA defer_foreign_keys = ON`))
        for (const name of emptied) await tx.run(raw(tx.build, sql`DELETE FROM ${sql.table(name)}`))
      }),
    async remove() {
      await store.close()
      await under.remove()
    },
  }
}
