import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { input, say, told } from './speech.ts'

// Holds the write lock of a file for so many milliseconds, as another program might.
const { file, duration } = input<{ file: string; duration: number }>()
const db = new DatabaseSync(file, { timeout: 5000 })
say('ready')
await told()
db.exec('BEGIN IMMEDIATE')
say('held')
await wait(duration)
db.exec('COMMIT')
say('free')
process.exit(0)
