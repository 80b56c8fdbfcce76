import type { WriteArea } from '../../src/domain/crash-points.ts'
import type { ClaimedRun } from '../../src/engine/run/claimed-run.ts'
import type { Engine } from '../../src/engine/runtime.ts'
import { type Gate, gate } from '../../src/models/gate.ts'
import { openStore } from '../../src/store/open.ts'
import { connectPool } from '../../src/store/postgres/store.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import type { Store } from '../../src/store/store.ts'
import { context } from '../setup/store-context.ts'
import { claimNext } from './claim-next.ts'
import type { TestEngine } from './engine.ts'

const never = new AbortController().signal

/** A process of its own on the same rows: a store, an owner, and transactions that a test holds open before COMMIT. */
export interface Process {
  engine: Engine
  workerId: string
  /** The next transaction of this area reaches the gate with all its work done, and commits when the gate opens. */
  hold(area: WriteArea): Gate
  claim(): Promise<ClaimedRun>
}

/** Two processes, and someone who sees when one of them waits for the other. */
export interface Race {
  a: Process
  b: Process
  /** Resolves when one of them waits for a lock of the other, or the work is done without having waited. */
  waits(work: Promise<unknown>): Promise<void>
  close(): Promise<void>
}

export async function newRace(under: TestEngine): Promise<Race> {
  const { place } = under.runtime
  if (place.kind !== 'postgres') throw new Error('only PostgreSQL lets two transactions be open at once')
  const name = `race_${under.runtime.newId()}`
  const stores: Store[] = []
  const begin = async (): Promise<Process> => {
    const store = await openStore({ ...place, url: `${place.url}&application_name=${name}` }, context)
    stores.push(store)
    return newProcess({ ...under.engine, store: store })
  }
  const pool = connectPool({ url: place.url, poolSize: 1 })
  const isWaiting = async () => {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
      [name],
    )
    return rows.length > 0
  }
  return {
    a: await begin(),
    b: await begin(),
    async waits(work) {
      let isDone = false
      const done = () => {
        isDone = true
      }
      work.then(done, done)
      while (!isDone && !(await isWaiting()));
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()))
      await pool.end()
    },
  }
}

async function newProcess(engine: Engine): Promise<Process> {
  const held = new Map<WriteArea, Gate>()
  const { store } = engine
  const holding: Store = {
    ...store,
    write: (area, body) =>
      store.write(area, async (tx) => {
        const value = await body(tx)
        const closed = held.get(area)
        held.delete(area)
        await closed?.pass(never)
        return value
      }),
  }
  const process = { ...engine, store: holding }
  const workerId = engine.newId()
  await store.write('owner', (tx) =>
    insertOwner(tx, { id: workerId, pid: 1, startedAt: engine.clock.now(), beatAt: engine.clock.monotonic() }),
  )
  return {
    engine: process,
    workerId,
    hold(area) {
      const closed = gate()
      held.set(area, closed)
      return closed
    },
    async claim() {
      const claimed = await claimNext(process, { workerId })
      if (!claimed) throw new Error('there was nothing to claim')
      return claimed
    },
  }
}
