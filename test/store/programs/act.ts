import { crashAt } from '../../../src/domain/crash-points.ts'
import { HeddleError } from '../../../src/domain/errors.ts'
import { idSource } from '../../../src/domain/id.ts'
import { append } from '../../../src/engine/turns/append.ts'
import { backupBeforeUpgrade, writeBackup } from '../../../src/store/backup/backup.ts'
import { restoreBackup } from '../../../src/store/backup/restore.ts'
import { type DatabaseLocation, openStore } from '../../../src/store/open.ts'
import { systemClock, systemRandom } from '../../../src/system.ts'
import { input, say } from '../../contract/speech.ts'
import { laterMigrations } from '../later-schema.ts'

/** One thing that a process does to a place before it ends. */
export type Act = { place: DatabaseLocation } & (
  | { act: 'append'; turns: number }
  | { act: 'upgrade'; backups: string }
  | { act: 'backup' | 'restore'; file: string }
)

export type Said = { turnId: string } | { backup: string } | { done: true } | { code: string; remedy: string }

const asked = input<Act>()
const crash = crashAt(process.env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
const context = { clock: systemClock, random: systemRandom, crash }
const options = { ...context, heddleVersion: '0.1.0' }
try {
  await perform()
  speak({ done: true })
} catch (error) {
  if (!(error instanceof HeddleError)) throw error
  speak({ code: error.code, remedy: error.remedy })
}
process.exit(0)

async function perform(): Promise<void> {
  const { place } = asked
  if (asked.act === 'restore') {
    await restoreBackup(place, asked.file, { context })
    return
  }
  const store = await openStore(place, context, asked.act === 'upgrade' ? upgrading(asked.backups) : {})
  if (asked.act === 'backup') await writeBackup(store, asked.file, options)
  const runtime = { store, clock: systemClock, newId: idSource(systemClock, systemRandom) }
  const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }
  for (let left = asked.act === 'append' ? asked.turns : 0; left > 0; left--) {
    const { turnId } = await append(runtime, { folder: '/work', label: 'main', draft })
    speak({ turnId })
  }
  await store.close()
}

function upgrading(backups: string) {
  return {
    migrations: laterMigrations,
    beforeUpgrade: async (...[store, from]: Parameters<Upgrade>) =>
      speak({ backup: await backupBeforeUpgrade(store, backups, from, options) }),
  }
}

type Upgrade = NonNullable<NonNullable<Parameters<typeof openStore>[2]>['beforeUpgrade']>

function speak(said: Said): void {
  say(said)
}
