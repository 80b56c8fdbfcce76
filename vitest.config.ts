import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { Tally } from './test/setup/tally.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Much of the suite waits for disks and child processes, so even two cores are worth two workers.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    allowOnly: false,
    reporters: ['default', new Tally()],
  },
})
