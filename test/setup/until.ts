import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'

const turnsWithoutPause = 50
const quickMs = 5

/**
 * Resolves as soon as something is so: for what gives no sign of its own. Looks in each turn of the event loop for a
 * moment, then every few milliseconds; where a look takes long, such as a command, with longer pauses. So a wait leaves
 * the CPU to what it waits for.
 */
export async function untilSo(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; ; turn++) {
    const begun = performance.now()
    if (await isSo()) return
    const took = performance.now() - begun
    if (took > quickMs) await pause(3 * took)
    else await (turn < turnsWithoutPause ? new Promise(setImmediate) : pause(quickMs))
  }
}
