import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { input, say, told } from './speech.ts'

// Holds the write lock of a file for as many milliseconds as it is told, as another program might; then once more.
const { file } = input<{ file: string }>()
const db = new DatabaseSync(file, { timeout: 5000 })
for (;;) {
  const duration = Number(await told())
  db.exec('BEGIN IMMEDIATE')
  say('held')
  await wait(duration)
  db.exec('COMMIT')
  say('free')
}
