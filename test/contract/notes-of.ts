import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { systemClock, systemRandom } from '../../src/system.ts'
import { notes } from './notes.ts'
import { input, say } from './speech.ts'

// Says which notes another process finds in a place.
const context = { clock: systemClock, random: systemRandom, crash: () => undefined }
const store = await openStore(input<DatabaseLocation>(), context)
say(await store.read(notes))
process.exit(0)
