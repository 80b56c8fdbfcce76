import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseCLI, startVitest } from 'vitest/node'
import { restartInMemory } from '../test/setup/in-memory.ts'
import { Tally } from '../test/setup/tally.ts'

// Runs tests beside six busy loops: what waits for a signal passes on a busy machine, what counts on time does not.
const usage = `npm run test:loaded -- [path ...] [options of vitest]
  path          runs only the tests whose path matches; all if none is named
  LOOPS=N       so many busy loops (6)
Exit code: 0 if every test passed; 1 if not.`

process.chdir(join(import.meta.dirname, '..'))
if (process.argv.includes('--help')) {
  console.log(usage)
  process.exit(0)
}

restartInMemory()

// Each ends with this process, however that ends: its input closes then. It asks between two spells of work.
const busyLoop = `
process.stdin.on('close', () => process.exit()).resume()
function work() {
  const until = performance.now() + 200
  while (performance.now() < until);
  setImmediate(work)
}
work()`
const loops = Array.from({ length: Number(process.env['LOOPS'] ?? 6) }, () =>
  spawn(process.execPath, ['-e', busyLoop], { stdio: ['pipe', 'ignore', 'inherit'] }),
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(loops, 130))

const tally = new Tally()
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
await startVitest(filter, { ...options, run: true, reporters: ['default', tally] })
const failed = tally.passed + tally.failed === 0 ? 1 : tally.failed
process.stdout.write(`beside ${loops.length} busy loops: ${tally.passed} passed, ${failed} failed\n`)
end(loops, failed === 0 && !process.exitCode ? 0 : 1)

function end(children: ChildProcess[], code: number): never {
  for (const child of children) child.kill('SIGKILL')
  process.exit(code)
}
