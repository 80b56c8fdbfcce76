import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { context } from '../setup/store-context.ts'

export type AllRows = Record<string, Record<string, unknown>[]>

/** Every row of every table, in an order of its own, without what means something in one database only. */
export function allRows(store: Store): Promise<AllRows> {
  return store.snapshot(async (rows) => {
    const found: AllRows = {}
    for (const table of await rows.tables()) {
      const lines: Record<string, unknown>[] = []
      for await (const page of rows.pages(table)) lines.push(...page.map((row) => ({ ...row })))
      found[table] = lines.map(({ xid: _, ...row }) => row).sort(byText)
    }
    return { ...found, meta: (found['meta'] ?? []).filter(({ key }) => key !== 'database_id') }
  })
}

export async function rowsIn(place: DatabaseLocation, options = {}): Promise<AllRows> {
  const store = await openStore(place, context, options)
  try {
    return await allRows(store)
  } finally {
    await store.close()
  }
}

function byText(a: object, b: object): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}
