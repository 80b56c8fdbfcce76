import { afterEach, expect, test } from 'vitest'
import { type Database, databases } from '../setup/places.ts'
import { countStatements } from '../setup/statement-counter.ts'
import { type Budget, budgets } from './budgets.ts'
import { type Cost, type CountingHome, openCountingHome, operations } from './operations.ts'

/** PostgreSQL has as many statements and a few more, and commits of its own: there round trips are the cost. */
const counted: Record<Database, readonly (keyof Budget)[]> = {
  sqlite: ['statements', 'commits', 'events'],
  postgres: ['roundTrips'],
}

let home: CountingHome | undefined
afterEach(async () => {
  await home?.remove()
  home = undefined
})

test('every operation that is counted has a budget', () => {
  expect(Object.keys(operations)).toEqual(Object.keys(budgets))
})

test.each(
  databases.flatMap((database) => Object.entries(budgets).map(([name, budget]) => ({ database, name, budget }))),
)('$name on $database asks no more of the database than its budget', async ({ database, name, budget }) => {
  home = await openCountingHome(database)
  const cost = await operations[name]?.(home)
  expect(cost && excess(counted[database], cost, budget)).toBe('')
})

test('a request is read whole once it has ended, not while its run is at work', async () => {
  home = await openCountingHome('sqlite')
  const { ask } = home
  await ask('one')
  const { statements } = await countStatements(() => ask('two'))
  expect(statements.filter(isWhole)).toHaveLength(1)
})

test('a request that many agents work for is read whole a few times, not at the end of each', async () => {
  home = await openCountingHome('sqlite')
  const { ask } = home
  await ask('start 2', 'before')
  const { statements } = await countStatements(() => ask('start 100', 'parent'))
  expect(statements.filter(isWhole).length).toBeLessThanOrEqual(3)
})

const isWhole = (sql: string) => sql.includes('is_unfinished')

/** What goes beyond the budget, and the statements that were counted; empty if nothing does. */
function excess(keys: readonly (keyof Budget)[], cost: Cost, budget: Budget): string {
  const over = keys
    .filter((key) => cost[key] > budget[key])
    .map((key) => `${cost[key]} ${key} instead of ${budget[key]}`)
  return over.length === 0 ? '' : [over.join(', '), ...tally(cost.list)].join('\n')
}

/** Each statement once, with how often it ran, in the order of its first time. */
function tally(statements: readonly string[]): string[] {
  const times = new Map<string, number>()
  for (const sql of statements) times.set(sql, (times.get(sql) ?? 0) + 1)
  return [...times].map(([sql, count]) => `${count} × ${sql.replace(/\s+/g, ' ').trim()}`)
}
