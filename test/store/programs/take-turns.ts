import { closeSync, openSync, rmSync } from 'node:fs'
import { withUpgradeLock } from '../../../src/store/sqlite/upgrade-lock.ts'
import { systemClock, systemRandom } from '../../../src/system.ts'
import { input, say, told } from '../../contract/speech.ts'

// Upgrades a file again and again, and says how often another process was upgrading it at the same time.
const { file, turns } = input<{ file: string; turns: number }>()
const context = {
  clock: { ...systemClock, sleep: () => systemClock.sleep(1) },
  random: systemRandom,
  crash: () => undefined,
}
say('ready')
await told()
let overlaps = 0
const troubles = new Set<string>()
for (let turn = 0; turn < turns; turn++) {
  try {
    await withUpgradeLock(file, context, work)
  } catch (error) {
    troubles.add(String(error))
  }
}
say({ overlaps, troubles: [...troubles] })
process.exit(0)

async function work(): Promise<void> {
  try {
    closeSync(openSync(`${file}.inside`, 'wx'))
  } catch {
    overlaps++
    return
  }
  await new Promise(setImmediate)
  rmSync(`${file}.inside`)
}
