import { type TestAPI, test } from 'vitest'
import { isLong, today } from './long.ts'
import { type Database, databases } from './places.ts'

/**
 * `test` for rules that hold on both databases, in a file that takes long: each is played on one of them, the next day on
 * the other one, and on both in `npm run long`. Neighbours take different ones, so that every day has both. With more `turns`
 * than databases it is played on two of so many days.
 */
export function testOn(database: Database, turns = 2): TestAPI {
  const isItsTurn = turnsOn(database, today, turns)
  return new Proxy(test, {
    apply: (all, self, words) => (isItsTurn() ? Reflect.apply(all, self, words) : undefined),
    get: (all, key) =>
      key === 'each' ? (cases: readonly unknown[]) => all.each(cases.filter(isItsTurn)) : Reflect.get(all, key),
  })
}

/** Whether the next rule is played on this database. */
export function turnsOn(database: Database, day = today, turns = 2): () => boolean {
  let at = day + databases.indexOf(database)
  return () => isLong || at++ % turns === 0
}
