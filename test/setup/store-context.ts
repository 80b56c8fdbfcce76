import type { StoreContext } from '../../src/store/store.ts'
import { systemClock, systemRandom } from '../../src/system.ts'

/** Real time and chance, and no crash. Imports nothing of Vitest: programs that tests start use it, too. */
export const context: StoreContext = { clock: systemClock, random: systemRandom, crash: () => undefined }
