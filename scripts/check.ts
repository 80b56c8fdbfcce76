import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { parseCLI, startVitest } from 'vitest/node'
import { restartInMemory } from '../test/setup/in-memory.ts'
import { Tally } from '../test/setup/tally.ts'

// Everything a change must pass: format, lint, types, then the tests. All of it runs even when a part fails, and the
// last line counts the whole. Arguments go to vitest: `npm run check -- test/store` or `-- -t 'a sentence'`.
const root = join(import.meta.dirname, '..')
process.chdir(root)
restartInMemory()

interface CheckedPart {
  name: string
  repair: string
  /** What it said, if it failed. */
  output: string | undefined
}

const parts = [
  {
    name: 'format and lint',
    program: 'biome',
    args: ['check', '--error-on-warnings', '.'],
    repair: 'npm run format, npm run lint',
  },
  // In one thread: several know less of each other's work, and take processor time from the tests.
  { name: 'types', program: 'tsc', args: ['-p', 'tsconfig.json', '--singleThreaded'], repair: 'npm run types' },
  {
    name: 'types of the page',
    program: 'tsc',
    args: ['-p', 'web/tsconfig.json', '--singleThreaded'],
    repair: 'npm run types',
  },
]
// Beside the start of the tests, which waits for a database server.
const checked = Promise.all(parts.map(checkPart))

const maxRetriedFiles = 3
const maxToldFiles = 10

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const tally = await runTests(filter)
const unstable = await retryAlone(tally)

const failedParts = (await checked).filter(({ output }) => output !== undefined)
for (const { output } of failedParts) process.stderr.write(output ?? '')
// Told and not failed: on a busy machine every file takes longer.
for (const { file, seconds } of tally.slowFiles.slice(0, maxToldFiles))
  console.error(`slow: ${file} took ${seconds.toFixed(0)} s`)
for (const name of unstable) console.error(`unstable: ${name} failed beside other tests and passed alone`)
for (const { name, repair } of failedParts) console.error(`failed: ${name} (${repair})`)
// Setting up can fail before the first test, and then nothing was counted.
const isUncounted = tally.passed + tally.failed === 0
const passed = parts.length - failedParts.length + tally.passed + unstable.length
const failed = failedParts.length + (isUncounted ? 1 : tally.failed - unstable.length)
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 && !process.exitCode ? 0 : 1)

/** Keeps what a part that failed has said for the end, where it is not lost among the tests. */
function checkPart({ program, args, ...part }: (typeof parts)[number]): Promise<CheckedPart> {
  const words = [join('node_modules/.bin', program), ...args]
  // The compiler is a program in Go. That it collects garbage less often saves a fifth of its time, for a tenth more memory.
  const env = { GOGC: '300', ...process.env }
  return new Promise((resolve) =>
    execFile(process.execPath, words, { maxBuffer: 2 ** 28, env }, (error, stdout, stderr) =>
      resolve({ ...part, output: error ? `${stdout}${stderr}` : undefined }),
    ),
  )
}

async function runTests(filter: string[], more: Partial<typeof options> = {}): Promise<Tally> {
  const tally = new Tally()
  await startVitest(filter, { ...options, ...more, run: true, reporters: ['default', tally] })
  return tally
}

/**
 * Runs the files of failed tests once more, one after another with nothing beside them, and returns the tests that passed
 * then. Only if a few tests are all that failed: more than that is not chance.
 */
async function retryAlone({ failed, failedTests }: Tally): Promise<string[]> {
  const files = [...new Set(failedTests.map(({ file }) => file))]
  if (failed === 0 || failed > failedTests.length || files.length > maxRetriedFiles) return []
  process.exitCode = undefined
  const again = await runTests(files, { maxWorkers: 1 })
  const isGreen = again.failed === 0 && again.passed > 0
  return isGreen ? failedTests.map(({ name }) => name) : []
}
