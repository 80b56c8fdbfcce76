import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import type { Runtime } from '../../src/engine/runtime.ts'
import type { DatabaseLocation } from '../../src/store/open.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { findThread, readThreads, readTips } from '../../src/store/rows/threads.ts'
import { countTurns } from '../../src/store/rows/turns.ts'

/**
 * Shows that sessions which were only appended to are whole: each is one unbroken line of turns from depth 1 to its
 * head, every turn lies on one of them, and all turns that were acknowledged are there. Answers how long each is.
 */
export async function expectWhole(
  runtime: Runtime & { place: DatabaseLocation },
  acknowledged: string[],
): Promise<number[]> {
  const { lines, tips, count } = await runtime.store.read(async (rows) => {
    const sessions = await findSessions(rows)
    const lines = []
    for (const { headTurnId } of sessions.sort((a, b) => (a.label < b.label ? -1 : 1))) {
      const head = headTurnId === null ? undefined : await findThread(rows, headTurnId)
      lines.push(head ? await readThreads(rows, head) : [])
    }
    return { lines, tips: await readTips(rows), count: await countTurns(rows) }
  })
  for (const line of lines) expect(line.map(({ depth }) => depth)).toEqual(line.map((_, index) => index + 1))
  const placed = lines.flat().map(({ turnId }) => turnId)
  expect(new Set(placed).size).toBe(count)
  expect(placed.length).toBe(count)
  expect(acknowledged.filter((turnId) => !placed.includes(turnId))).toEqual([])
  const heads = lines.flatMap((line) => line.at(-1)?.turnId ?? []).sort()
  expect(tips.map(({ turnId }) => turnId)).toEqual(heads)
  expectSound(runtime.place)
  return lines.map((line) => line.length)
}

/** SQLite's own word on the file; PostgreSQL keeps its pages to itself. */
export function expectSound(place: DatabaseLocation): void {
  if (place.kind === 'postgres') return
  const db = new DatabaseSync(place.file, { readOnly: true })
  expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(db.prepare('PRAGMA foreign_key_check').all()).toEqual([])
  db.close()
}
