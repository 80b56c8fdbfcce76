import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseCLI, startVitest } from 'vitest/node'
import { Tally } from '../test/setup/tally.ts'

// Everything a change must pass: format, lint, types, then the tests. All of it runs even when a part fails, and the
// last line counts the whole. Arguments go to vitest: `npm run check -- test/store` or `-- -t 'a sentence'`.
const root = join(import.meta.dirname, '..')
process.chdir(root)

const parts = [
  {
    name: 'format and lint',
    program: 'biome',
    args: ['check', '--error-on-warnings', '.'],
    repair: 'npm run format, npm run lint',
  },
  { name: 'types', program: 'tsc', args: ['-p', 'tsconfig.json'], repair: 'npm run types' },
]
const failedParts = parts.filter(({ program, args }) => {
  const { status } = spawnSync(process.execPath, [join('node_modules/.bin', program), ...args], { stdio: 'inherit' })
  return status !== 0
})

const tally = new Tally()
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
await startVitest(filter, { ...options, run: true, reporters: ['default', tally] })

for (const { name, repair } of failedParts) console.error(`failed: ${name} (${repair})`)
// Setting up can fail before the first test, and then nothing was counted.
const isUncounted = tally.passed + tally.failed === 0
const passed = parts.length - failedParts.length + tally.passed
const failed = failedParts.length + (isUncounted ? 1 : tally.failed)
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 && !process.exitCode ? 0 : 1)
