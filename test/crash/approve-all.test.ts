import { expect, test } from 'vitest'
import { approveAll } from './approve-all.ts'

test('a person stays while runs are left, though another one has answered their question between two looks', async () => {
  // The question that the first look at rest was about is answered already; the run then asks another.
  const open = [[], [{ id: 2, hash: 'second' }]]
  const left = [[{ id: 'run' }], [{ id: 'run' }], []]
  const answered: string[] = []
  const app = {
    runs: async () => ({ rows: left.shift() ?? [] }),
    approvals: async () => open.shift() ?? [],
    decide: async (id: string) => answered.push(id),
  }
  type Desk = Parameters<typeof approveAll>[0]
  await approveAll({ app: app as unknown as Desk['app'], quiet: async () => {}, insist: (work) => work() })
  expect({ answered, left }).toEqual({ answered: ['approval:2'], left: [] })
})
