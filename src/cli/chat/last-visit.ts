import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import { homePaths } from '../../home/home.ts'
import type { CommandContext } from '../command.ts'

const defaultPeriod: Millis = 86_400_000

/** When the user last saw the status of this folder; later turns are news. */
export interface LastVisit {
  at: Millis
  /** False on the first visit: then the last day is news. */
  isKnown: boolean
}

export function lastSeen(here: CommandContext): LastVisit {
  try {
    const at = Date.parse(readFileSync(markerPath(here), 'utf8').trim())
    if (Number.isFinite(at)) return { at, isKnown: true }
  } catch {
    // First visit, or the marker file is gone.
  }
  return { at: here.clock.now() - defaultPeriod, isKnown: false }
}

/** Records that the user has seen the status. Not for programs: they must not consume the news. */
export function markSeen(here: CommandContext): void {
  if (!here.screen.isTerminal || here.json) return
  try {
    writeFileSync(markerPath(here), `${new Date(here.clock.now()).toISOString()}\n`, { mode: 0o600 })
  } catch {
    // Ignored: at worst old news are shown again.
  }
}

function markerPath({ home, folder }: CommandContext): string {
  const name = hash('sha256', folder).slice(0, 16)
  return join(homePaths(home).run, `seen-${name}`)
}
