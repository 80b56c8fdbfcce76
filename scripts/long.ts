import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseCLI, startVitest } from 'vitest/node'
import { restartInMemory } from '../test/setup/in-memory.ts'
import { Tally } from '../test/setup/tally.ts'

// The whole of every proof of which `npm test` plays a part a day: the tests that import test/setup/long.ts or test-on.ts.
// Arguments go to vitest: `npm run long -- test/store` or `-- -t 'a sentence'`.
process.chdir(join(import.meta.dirname, '..'))
restartInMemory()
process.env['LONG'] = '1'

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const proofs = globSync('test/**/*.test.ts').filter((file) =>
  /\/setup\/(long|test-on)\.ts'/.test(readFileSync(file, 'utf8')),
)
const files = filter.length === 0 ? proofs : proofs.filter((file) => filter.some((part) => file.includes(part)))
if (files.length === 0) {
  console.error(`no test that matches ${filter.join(' ')} has a long form; those that have one: ${proofs.join(', ')}`)
  process.exit(2)
}
const tally = new Tally()
await startVitest(files, { ...options, run: true, reporters: ['default', tally] })
process.exit(tally.failed === 0 && tally.passed > 0 ? 0 : 1)
