import type { StoreContext } from '../../src/store/store.ts'
import { systemClock, systemRandom } from '../../src/system.ts'

/** Real time and chance, and no crash: also for programs that tests start, which know nothing of tests. */
export const context: StoreContext = { clock: systemClock, random: systemRandom, crash: () => undefined }
