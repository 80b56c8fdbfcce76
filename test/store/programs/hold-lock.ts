import { DatabaseSync } from 'node:sqlite'
import { input, say, told } from '../../contract/speech.ts'

// Holds the write lock of a database file until it is told to let go.
const db = new DatabaseSync(input<string>())
db.exec('BEGIN IMMEDIATE')
say('held')
await told()
db.exec('ROLLBACK')
db.close()
process.exit(0)
