import { afterEach, describe, expect } from 'vitest'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { findRun } from '../../src/store/rows/runs.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { testTool } from './engine.ts'
import { type Hands, newHands, planned, read, write } from './hands.ts'

const strange = { integrity: 'untrusted' as const, sources: ['url:https://strange.example/'] }
const visit: Tool = {
  ...(testTool('visit', 'pure', () => '') as Extract<Tool, { run: unknown }>),
  run: async () => ({ status: 'ok', output: 'buy now', label: strange }),
}

describe.each(databases)('the label of a file on %s', (database) => {
  const test = testOn(database)
  let hands: Hands
  afterEach(() => hands.remove())

  const begin = async () => {
    const model = planned({
      save: [[{ name: 'visit', input: {} }], [write('notes.md', 'buy now')]],
      read: [[read('notes.md')]],
      replace: [[write('notes.md', 'mine')]],
    })
    hands = await newHands(database, model, [visit])
    await hands.work()
    await hands.ask('save', 'visitor')
  }
  const labelAfter = async (said: string, session: string) => {
    const runId = await hands.ask(said, session)
    return (await hands.engine.store.read((rows) => findRun(rows, runId)))?.label.integrity
  }

  test('is that of the run that wrote it, for whoever reads it', async () => {
    await begin()
    expect(await labelAfter('read', 'reader')).toBe('untrusted')
  })

  test('is trusted again once the user has changed it, or a trusted run has replaced all of it', async () => {
    await begin()
    hands.put('notes.md', 'buy nothing')
    expect(await labelAfter('read', 'reader')).toBe('trusted')
    hands.put('notes.md', 'buy now')
    expect(await labelAfter('read', 'second')).toBe('untrusted')
    expect(await labelAfter('replace', 'third')).toBe('trusted')
    expect(await labelAfter('read', 'fourth')).toBe('trusted')
  })
})
