import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { HeddleError } from '../../../src/domain/errors.ts'
import { idSource } from '../../../src/domain/id.ts'
import { append } from '../../../src/engine/turns/append.ts'
import { writeBackup } from '../../../src/store/backup/backup.ts'
import { restoreBackup } from '../../../src/store/backup/restore.ts'
import { type DatabaseLocation, openStore } from '../../../src/store/open.ts'
import { systemClock, systemRandom } from '../../../src/system.ts'
import { input, say } from '../../contract/speech.ts'
import { rowsIn } from '../all-rows.ts'

export interface FullDisk {
  /** A place on a small disk. */
  place: DatabaseLocation & { kind: 'sqlite' }
  /** A small backup elsewhere. */
  backup: string
}

export type Answer = { turnId: string } | { code: string; remedy: string; retry: string }

export interface Report {
  /** While the disk filled up, when it was full, and after space was freed. */
  filling: Answer[]
  full: Record<'append' | 'backup' | 'restart' | 'restore', Answer | string>
  freed: Answer[]
  filesWhenFull: string[]
  stored: string[]
  integrity: unknown[]
}

const { place, backup } = input<FullDisk>()
const folder = dirname(place.file)
const context = { clock: systemClock, random: systemRandom, crash: () => undefined }
const newId = idSource(systemClock, systemRandom)
const labels = ['a', 'b', 'c', 'd']

writeFileSync(join(folder, 'ballast'), Buffer.alloc(1024 * 1024))
let store = await openStore(place, context)
const filling: Answer[] = []
while (!filling.some((answer) => 'code' in answer)) filling.push(...(await appendToAll(3000)))
topUp()
const full: Report['full'] = {
  append: (await appendToAll(3000))[0] ?? 'nothing',
  backup: await tried(() => writeBackup(store, join(folder, 'b.backup'), { ...context, heddleVersion: '0.1.0' })),
  restart: 'not tried',
  restore: 'not tried',
}
const filesWhenFull = readdirSync(folder)
rmSync(join(folder, 'ballast'))
const freed = await appendToAll(3000)

// A second time, with a restart while there is no space.
await store.close()
topUp()
full.restart = await tried(async () => (await openStore(place, context)).close())
full.restore = await tried(() => restoreBackup(place, backup, { context }))
for (const name of readdirSync(folder)) if (name.startsWith('top-')) rmSync(join(folder, name))
store = await openStore(place, context)
freed.push(...(await appendToAll(100)))
await store.close()
const stored = ((await rowsIn(place))['turns'] ?? []).map(({ id }) => String(id))
const integrity = new DatabaseSync(place.file, { readOnly: true }).prepare('PRAGMA integrity_check').all()
say({ filling, full, freed, filesWhenFull, stored, integrity } satisfies Report)
process.exit(0)

/** Adds a turn to each session in one batch. */
function appendToAll(size: number): Promise<Answer[]> {
  const draft = { query: [{ content: 'question' }], response: { content: 'x'.repeat(size) } }
  const runtime = { store, clock: systemClock, newId }
  return Promise.all(
    labels.map((label) =>
      append(runtime, { folder: '/work', label, draft }).then(({ turnId }) => ({ turnId }), answerOf),
    ),
  )
}

async function tried(step: () => Promise<unknown>): Promise<Answer | string> {
  return step().then(() => 'done', answerOf)
}

function answerOf(error: unknown): Answer {
  if (!(error instanceof HeddleError)) throw error
  return { code: error.code, remedy: error.remedy, retry: error.retry }
}

/** Takes the last free byte. */
function topUp(): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail > 0) writeFileSync(join(folder, `top-${newId()}`), Buffer.alloc(bavail * bsize))
}
