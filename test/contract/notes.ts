import { sql } from 'kysely'
import type { Reading, Tx } from '../../src/store/store.ts'

/** Writes the smallest row there is: a prompt, named by its hash. */
export function note(tx: Tx, name: string, text = ''): Promise<number> {
  return tx.run(tx.build.insertInto('prompts').values({ hash: name, text }))
}

/** The names of all notes, in byte order. */
export async function notes(rows: Reading): Promise<string[]> {
  return (await rows.all(rows.build.selectFrom('prompts').select('hash').orderBy('hash'))).map(({ hash }) => hash)
}

/** A statement in the database's own words. */
export function raw<R = unknown>(rows: Reading, text: string) {
  return { compile: () => sql<R>`${sql.raw(text)}`.compile(rows.build) }
}

/** A moment that a test brings about and others wait for. */
export function gate<T = void>() {
  return Promise.withResolvers<T>()
}
