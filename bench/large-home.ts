import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { indexAll, openHome } from './home.ts'
import { draftOf, folder, growBy, type Scratch } from './scratch.ts'
import { zeroLatencyModel } from './zero-latency.ts'

/** A home that has been in use for a long time. */
export interface LargeHome {
  turns: number
  /** A copy of its own for whoever changes it; answers where it is. */
  copy(name: string): string
}

const turns = 100_000
const sessions = 100

export async function fillLargeHome(scratch: Scratch): Promise<LargeHome> {
  scratch.say(`a home of ${turns} turns`)
  const home = join(scratch.directory, 'large')
  const app = await openHome({ home, model: zeroLatencyModel() })
  const labels = Array.from({ length: sessions }, (_, number) => `session-${number}`)
  await growBy((session) => app.append(folder, { session, draft: draftOf(670) }), labels, turns)
  await indexAll(app)
  await app.close()
  return {
    turns,
    copy(name) {
      const copy = join(scratch.directory, `large-${name}`)
      cpSync(home, copy, { recursive: true })
      return copy
    },
  }
}
