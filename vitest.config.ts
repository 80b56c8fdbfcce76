import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { isLong } from './test/setup/long.ts'
import { nodeOptions } from './test/setup/node.ts'
import { SlowFirst } from './test/setup/slow-first.ts'
import { Tally } from './test/setup/tally.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/run-folders.ts', 'test/setup/postgres.ts'],
    // Tests wait for signals. This is for what never comes: on a busy machine all else may take its time.
    testTimeout: isLong ? 3_600_000 : 120_000,
    hookTimeout: 120_000,
    // Much of the suite waits for child processes, so a core is worth more than one worker; with three more it takes longer.
    maxWorkers: availableParallelism() + 1,
    // The program keeps nothing of one app in modules, so a worker evaluates them once for all the files that it runs.
    isolate: false,
    execArgv: nodeOptions,
    sequence: { sequencer: SlowFirst },
    allowOnly: false,
    reporters: ['default', new Tally()],
  },
})
