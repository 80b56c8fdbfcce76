import { setTimeout as pause } from 'node:timers/promises'

const turnsWithoutPause = 50

/**
 * Resolves as soon as something is so: for what gives no sign of its own. Looks in each turn of the event loop for a
 * moment, then every few milliseconds, so that a longer wait leaves the CPU to what it waits for.
 */
export async function untilSo(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await isSo()); turn++) await (turn < turnsWithoutPause ? new Promise(setImmediate) : pause(5))
}
