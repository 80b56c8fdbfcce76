import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Millis } from '../domain/clock.ts'
import { homePaths } from '../home/home.ts'
import type { Here } from './cli.ts'

const atFirst: Millis = 86_400_000

/** When a person last looked at this folder: what came later is news to them. */
export interface LastLook {
  at: Millis
  /** False when nobody has looked yet: then the last day is news. */
  isKnown: boolean
}

export function lastSeen(here: Here): LastLook {
  try {
    const at = Date.parse(readFileSync(markOf(here), 'utf8').trim())
    if (Number.isFinite(at)) return { at, isKnown: true }
  } catch {
    // Nobody has looked yet, or the mark was lost with everything else that may be.
  }
  return { at: here.clock.now() - atFirst, isKnown: false }
}

/** A person has seen how things stand. Programs that ask do not take the news from them. */
export function markSeen(here: Here): void {
  if (!here.screen.isTerminal || here.json) return
  try {
    writeFileSync(markOf(here), `${new Date(here.clock.now()).toISOString()}\n`, { mode: 0o600 })
  } catch {
    // A mark that cannot be written makes old news appear again, which is no reason to fail.
  }
}

function markOf({ home, folder }: Here): string {
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16)
  return join(homePaths(home).run, `seen-${name}`)
}
