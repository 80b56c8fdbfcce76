import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { HeddleError } from '../../src/domain/errors.ts'
import { openStore } from '../../src/store/open.ts'
import type { Tx } from '../../src/store/store.ts'
import { systemClock, systemRandom } from '../../src/system.ts'
import { note, notes } from './notes.ts'
import { input, say } from './speech.ts'

export interface FullDisk {
  /** A small disk of its own. */
  directory: string
  /** Batches of bodies, each named, with the bytes it writes; run one after another while space is short. */
  batches: Record<string, number>[]
  /** How many bytes are left while they run. */
  left: number
}

// Fills the disk but for a little, writes the batches, then makes room again and writes on.
const { directory, batches, left } = input<FullDisk>()
const file = join(directory, 'heddle.db')
const filler = join(directory, 'filler')
const store = await openStore(
  { kind: 'sqlite', file, durability: 'full' },
  { clock: systemClock, random: systemRandom, crash: () => undefined },
)
await write('first', 100)
writeFileSync(filler, Buffer.alloc(free() - left))
const outcomes = []
for (const batch of batches)
  outcomes.push(...(await Promise.all(Object.entries(batch).map(([name, bytes]) => write(name, bytes)))))
rmSync(filler)
outcomes.push(await write('last', 100_000))
say({ outcomes, stored: await store.read(notes) })
await store.close()
const db = new DatabaseSync(file)
say(db.prepare('PRAGMA integrity_check').all())
process.exit(0)

async function write(name: string, bytes: number): Promise<string> {
  try {
    await store.write('append', (tx: Tx) => note(tx, name, 'x'.repeat(bytes)))
    return `${name} stored`
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error
    return `${name} ${error.code}, retry ${error.retry}`
  }
}

function free(): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}
