import { DatabaseSync } from 'node:sqlite'
import { input, say, told } from './speech.ts'

// Holds the write lock of a file from one line of the test to the next, as another program might; then once more.
const { file } = input<{ file: string }>()
const db = new DatabaseSync(file, { timeout: 5000 })
for (;;) {
  await told()
  db.exec('BEGIN IMMEDIATE')
  say('held')
  await told()
  db.exec('COMMIT')
  say('free')
}
