import type { HeddleError } from '../domain/errors.ts'
import type { Migration } from './migration.ts'
import type { Store } from './store.ts'

export interface OpenOptions {
  migrations?: readonly Migration[]
  /** Error to throw if the database is missing; called before the file is checked. Without it a new one is created. */
  refusalIfMissing?(): Promise<HeddleError | undefined>
  /** Called with the old database before its schema is migrated; must write a verified backup or throw. */
  beforeUpgrade?(store: Store, from: number, to: number): Promise<void>
}

/** Calls `beforeUpgrade` with the old database; only the process that holds the upgrade lock gets here. */
export async function runBeforeUpgrade(
  store: Store,
  from: number,
  known: readonly Migration[],
  beforeUpgrade: OpenOptions['beforeUpgrade'],
): Promise<void> {
  try {
    await beforeUpgrade?.(store, from, known.at(-1)?.id ?? from)
  } finally {
    await store.close()
  }
}
