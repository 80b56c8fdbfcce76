import { crashAt } from '../../src/domain/crash-points.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { idSource } from '../../src/domain/id.ts'
import { append } from '../../src/engine/turns/append.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { systemClock, systemRandom } from '../../src/system.ts'
import { input, say, told } from './speech.ts'

export interface Appending {
  place: DatabaseLocation
  labels: string[]
  /** How many turns each label gets. */
  turns: number
  /** All turns must follow this one, where it is given. */
  parentTurnId?: string
}

export type Said = { turnId: string } | { code: string }

// Opens the place, waits for a word, then adds turns to all sessions at once and says each one's id when it is told that it is stored.
const { place, labels, turns, parentTurnId } = input<Appending>()
const crash = crashAt(process.env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
const context = { clock: systemClock, random: systemRandom, crash }
const store = await openStore(place, context)
const runtime = { store, clock: systemClock, newId: idSource(systemClock, systemRandom) }
say('ready')
await told()
await Promise.all(labels.map(fill))
await store.close()
process.exit(0)

async function fill(label: string): Promise<void> {
  for (let count = 1; count <= turns; count++) {
    const draft = { query: [{ content: `question ${count} of ${process.pid}` }], response: { content: 'answer' } }
    try {
      const { turnId } = await append(runtime, {
        folder: '/contract',
        label,
        draft,
        ...(parentTurnId !== undefined && { parentTurnId }),
      })
      say({ turnId })
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error
      say({ code: error.code })
    }
  }
}
