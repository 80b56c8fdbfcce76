import { idSource } from '../../src/domain/id.ts'
import type { Runtime } from '../../src/engine/runtime.ts'
import type { DatabaseLocation } from '../../src/store/open.ts'
import type { StoreContext } from '../../src/store/store.ts'
import { systemClock, systemRandom } from '../../src/system.ts'
import { emptyFile, emptySchema, type OwnPlace, readyPlace } from './ready-places.ts'
import { context } from './store-context.ts'

/** Both databases: whatever holds for a store is shown on each. */
export const databases = ['sqlite', 'postgres'] as const
export type Database = (typeof databases)[number]

/** An empty place of its own; `remove` leaves nothing behind. */
export function newPlace(database: Database): OwnPlace {
  return database === 'sqlite' ? emptyFile() : emptySchema()
}

/** A store without rows, with what the engine needs around it. */
export interface TestRuntime extends Runtime {
  place: DatabaseLocation
  /** Closes the store and opens the same place again. */
  restart(): Promise<void>
  remove(): Promise<void>
}

export async function newTestRuntime(database: Database, options: Partial<StoreContext> = {}): Promise<TestRuntime> {
  const { place, remove, open: openPlace } = await readyPlace(database)
  const open = () => openPlace({ ...context, ...options })
  const runtime: TestRuntime = {
    store: await open(),
    place,
    clock: options.clock ?? systemClock,
    newId: idSource(options.clock ?? systemClock, options.random ?? systemRandom),
    async restart() {
      await runtime.store.close()
      runtime.store = await open()
    },
    async remove() {
      await runtime.store.close()
      await remove()
    },
  }
  return runtime
}
