import { createInterface } from 'node:readline'
import { crashAt } from '../../src/domain/crash-points.ts'
import { homeFiles } from '../../src/home/home-files.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { systemClock as clock, systemRandom as random } from '../../src/system.ts'
import { wholeLook } from '../memory/whole-look.ts'

/** Where the rows are, and whose files. */
export interface Indexing {
  place: DatabaseLocation
  home: string
}

// A process that takes the files of a home in, once, and says when it has looked at all of them.
const { place, home } = JSON.parse(process.argv[2] ?? '') as Indexing
const crash = crashAt(process.env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
const store = await openStore(place, { clock, random, crash })
process.stdout.write('"ready"\n')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await lines.next()
const troubles = await wholeLook({ store, clock }, homeFiles(home))
await store.close()
process.stdout.write(`${JSON.stringify({ troubles: troubles.map(String) })}\n`)
process.exit(0)
