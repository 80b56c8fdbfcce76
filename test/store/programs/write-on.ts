import { idSource } from '../../../src/domain/id.ts'
import { append } from '../../../src/engine/turns/append.ts'
import { type DatabaseLocation, openStore } from '../../../src/store/open.ts'
import { systemClock, systemRandom } from '../../../src/system.ts'
import { input, say, told } from '../../contract/speech.ts'

export interface Writing {
  place: DatabaseLocation
  labels: string[]
}

// Adds turns to its sessions until it is told to stop, and says the id of each when it is stored.
const { place, labels } = input<Writing>()
const store = await openStore(place, { clock: systemClock, random: systemRandom, crash: () => undefined })
const runtime = { store, clock: systemClock, newId: idSource(systemClock, systemRandom) }
let stopped = false
await Promise.all([told().then(() => (stopped = true)), ...labels.map(writeOn)])
await store.close()
process.exit(0)

async function writeOn(label: string): Promise<void> {
  const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }
  while (!stopped) say((await append(runtime, { folder: '/work', label, draft })).turnId)
}
