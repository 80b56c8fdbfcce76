import { HeddleError } from '../../../src/domain/errors.ts'
import { idSource } from '../../../src/domain/id.ts'
import { append } from '../../../src/engine/turns/append.ts'
import { type DatabaseLocation, openStore } from '../../../src/store/open.ts'
import { systemClock, systemRandom } from '../../../src/system.ts'
import { input, say } from '../../contract/speech.ts'

export interface AppendingOn {
  place: DatabaseLocation
  turns: number
}

/** A turn that was acknowledged, a refusal, or the end. */
export type Said = { turnId: string } | { code: string } | { done: true }

// Adds turns one after another, whatever happens to each, and says what came of it.
const { place, turns } = input<AppendingOn>()
const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }
const newId = idSource(systemClock, systemRandom)
try {
  const store = await openStore(place, { clock: systemClock, random: systemRandom, crash: () => undefined })
  const runtime = { store, clock: systemClock, newId }
  for (let count = 0; count < turns; count++)
    say(await append(runtime, { folder: '/work', label: 'main', draft }).then(({ turnId }) => ({ turnId }), codeOf))
  await store.close()
} catch (error) {
  say(codeOf(error))
}
say({ done: true })
process.exit(0)

function codeOf(error: unknown): { code: string } {
  if (error instanceof HeddleError) return { code: error.code }
  throw error
}
