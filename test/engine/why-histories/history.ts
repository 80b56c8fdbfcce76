import { rmSync } from 'node:fs'
import type { Database } from '../../setup/places.ts'
import { untilFilesAreLater } from '../file-clock.ts'
import type { Hands } from '../hands.ts'
import type { Chance } from '../simulator-schedule.ts'
import { agentAndHandDeeds } from './agent-and-hand-deeds.ts'
import { commandDeeds } from './command-deeds.ts'
import { newGround } from './ground.ts'
import type { TrueFile } from './true-file.ts'

/** A folder with a random history that knows who wrote each line. */
export interface History {
  hands: Hands
  /** What was done, in order. */
  acts: string[]
  files: Map<string, TrueFile>
  /** Runs whose work no survey can tell: of commands at the same time. */
  unseen: Set<string>
  act(): Promise<void>
  remove(): Promise<void>
}

/**
 * `leavesNoTrace`: hands also put new files in the place of old ones, as some editors do, and move files before that; agents copy what
 * they saw. Then records and disk often do not tell who wrote a line.
 */
export async function newHistory(
  database: Database,
  chance: Chance,
  { leavesNoTrace }: { leavesNoTrace: boolean },
): Promise<History> {
  const ground = await newGround(database, chance, leavesNoTrace)
  const { hands, stage, files, unseen, pick } = ground
  const deeds = { ...agentAndHandDeeds(ground), ...commandDeeds(ground) }
  const acts: string[] = []
  const weights = [
    ...['an agent edits', 'an agent edits', 'an agent edits', 'an agent rewrites', 'an agent rewrites'],
    ...['a hand changes', 'a hand changes', 'a command changes', 'a command changes'],
    ...['an agent creates', 'a hand creates', 'a command creates', 'a command moves', 'a command moves'],
    ...['a command copies', 'a command removes', 'a hand moves', 'a hand copies', 'a hand swaps'],
    ...(leavesNoTrace ? ['a hand moves and changes', 'an agent copies what it saw'] : []),
    ...['a command appends', 'a command joins', 'a command sorts', 'a command cuts'],
    ...['a run is undone', 'a session is forked'],
    ...['a command swaps', 'a command rotates', 'two commands at once', 'an agent writes while a command runs'],
    ...(chance(4) === 0 ? ['a command is cancelled'] : []),
  ]
  return {
    hands,
    acts,
    files,
    unseen,
    async act() {
      // Nobody who does two things by hand does them within a tick of the file system's clock.
      await untilFilesAreLater(12)
      const name = files.size < 2 ? 'an agent creates' : (pick(weights) ?? '')
      acts.push(`${acts.length + 1} ${name} ${await deeds[name]?.()}`)
    },
    async remove() {
      await hands.remove()
      rmSync(stage, { recursive: true, force: true })
    },
  }
}
