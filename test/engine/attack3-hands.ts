import { expect } from 'vitest'
import { undo } from '../../src/engine/files/undo.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import type { Database } from '../setup/places.ts'
import { everydayHands } from './everyday-hands.ts'

export const attackDatabases: Database[] = process.env.ATTACK_BOTH ? ['sqlite', 'postgres'] : ['sqlite']

/** Who wrote a line: a run, `user`, or one of several runs. `any`: not asked. */
type Truth = string | string[]
export const user = 'user'
export const any = 'any'

type Found = { by: string; runId?: string; runIds?: string[] } | undefined

/** What is wrong with an answer; undefined if it is right. `isKnowable`: to say "unknown" is wrong, too. */
function faultOf(found: Found, truth: Truth, isKnowable: boolean): string | undefined {
  if (truth === any) return undefined
  const all = Array.isArray(truth) ? truth : [truth]
  const runs = all.filter((each) => each !== user)
  if (!found) return 'NO ANSWER'
  if (found.by === 'run') {
    if (all.includes(found.runId ?? '')) return undefined
    return runs.length > 0 ? 'WRONG RUN' : 'RUN CLAIMED for a line of the user'
  }
  if (found.by === 'unknown') {
    if (isKnowable) return 'NEEDLESS UNKNOWN'
    if (all.includes(user)) return undefined
    return runs.some((each) => found.runIds?.includes(each)) ? undefined : 'UNKNOWN WITHOUT THE RUN'
  }
  return all.includes(user) ? undefined : `DENIED (${found.by})`
}

export function attackHands(database: Database) {
  const hands = everydayHands(database)
  const { pool, author } = hands
  const check = async (path: string, truths: Record<string, Truth>, isKnowable: boolean) => {
    for (const [range, truth] of Object.entries(truths)) {
      const [first = 1, last = first] = range.split('-').map(Number)
      const faults: string[] = []
      for (let line = first; line <= last; line++) {
        let found: Found
        try {
          found = (await author(`${path}:${line}`)) as Found
        } catch (error) {
          faults.push(`${path}:${line} ERROR ${String(error)}`)
          continue
        }
        const fault = faultOf(found, truth, isKnowable)
        if (fault) faults.push(`${path}:${line} ${fault}, truth ${String(truth)}, told ${JSON.stringify(found)}`)
      }
      expect.soft(faults, `${path}:${range}`).toEqual([])
    }
  }
  return {
    ...hands,
    /** Each line is right or unknown with its run. */
    soft: (path: string, truths: Record<string, Truth>) => check(path, truths, false),
    /** Each line is right. */
    exact: (path: string, truths: Record<string, Truth>) => check(path, truths, true),
    takeBack: (runId: string) => undo(pool().engine, runId),
    async branch(label: string, from: string) {
      const { engine, folder } = pool()
      const [session] = await engine.store.read((rows) => findSessions(rows, { label: from, folder }))
      return fork(engine, { folder, turnId: session?.headTurnId ?? '', label })
    },
  }
}
