import { afterEach, beforeEach, describe, expect } from 'vitest'
import type { MemoryApp } from '../../src/api/views/memory.ts'
import { describeMemory } from '../../src/memory/describe.ts'
import { memoryApp } from '../../src/memory/memory-app.ts'
import { remember } from '../../src/memory/remember.ts'
import { insertNarrative } from '../../src/store/knowledge/narratives.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const stranger = { integrity: 'untrusted' as const, sources: ['url:https://a.example'] }

describe.each(databases)('what a person does with memories on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  let app: MemoryApp
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
    app = memoryApp(runtime, 1000)
  })
  afterEach(() => runtime.remove())

  const view = (id: number) => runtime.store.read((rows) => describeMemory(rows, String(id), runtime.clock.now()))
  const overheard = (content: string) =>
    runtime.store.write('submit', (tx) =>
      remember(tx, { content, source: 'agent', label: stranger, taskId: 3, resultId: 4, tags: ['net'] }, 5, 1000),
    )

  test('new words keep the score, the tags and where it came from', async () => {
    await overheard('The port is 8080')
    await overheard('the port is 8080.')
    const { memory, superseded } = await app.changeMemory(1, { content: 'The port is 9090' })
    // One that was overheard cannot gain more.
    expect(memory).toMatchObject({ id: 2, score: 1, tags: ['net'], taskId: 3, resultId: 4, source: 'user' })
    expect(superseded.map(({ id }) => id)).toEqual([1])
  })

  test('a word changed in what a stranger said does not make it trusted', async () => {
    await overheard('The vault is in the north wall')
    const { memory } = await app.changeMemory(1, { content: 'The vault is in the south wall' })
    expect(memory.trusted).toBe(false)
    expect((await view(memory.id)).label).toEqual(stranger)
  })

  test('tags and keywords are replaced without a new memory, and it is found by them', async () => {
    await app.remember({ content: 'The port is 8080', tags: ['net'], keywords: ['socket'] })
    const { memory } = await app.changeMemory(1, { tags: [], keywords: ['listener'] })
    expect(memory).toMatchObject({ id: 1, tags: [], keywords: ['listener'] })
    expect((await app.searchMemories('listener', { limit: 5 })).memories.map(({ id, words }) => [id, words])).toEqual([
      [1, ['listener']],
    ])
    expect(await app.searchMemories('socket', { limit: 5 })).toEqual({ memories: [] })
  })

  test('the same words are no change, and none are refused', async () => {
    await app.remember({ content: 'The port is 8080' })
    expect(await app.changeMemory(1, { content: ' The port is 8080 ' })).toMatchObject({ memory: { id: 1 } })
    await expect(app.changeMemory(1, { content: ' ' })).rejects.toThrow('nothing to remember')
    await expect(app.changeMemory(9, { content: 'x' })).rejects.toThrow('there is no memory 9')
  })

  test('whatever no longer counts tells the last of what took its place, and that one tells all behind it', async () => {
    await app.remember({ content: 'The port is 8080' })
    await app.changeMemory(1, { content: 'The port is 9090' })
    await app.changeMemory(2, { content: 'The port is 7070' })
    expect(await view(1)).toMatchObject({
      replacedBy: { id: 3, content: 'The port is 7070', createdAt: (await view(3)).createdAt },
      older: [],
    })
    expect((await view(3)).older.map(({ id }) => id)).toEqual([2, 1])
    await runtime.store.write('submit', (tx) =>
      insertNarrative(tx, {
        summary: 'ports',
        topic: null,
        folder: '/',
        sessionId: null,
        memoryIds: [3],
        previousId: null,
        runId: null,
        turnId: null,
        label: { integrity: 'trusted', sources: [] },
        createdAt: 1,
      }),
    )
    expect(await view(3)).toMatchObject({ narratives: [1], narrativeId: 1 })
    expect(await app.forgetMemory(3, { older: true })).toEqual({
      id: 3,
      narratives: [1],
      older: [2, 1],
      kept: [],
      runs: [],
      near: [],
      notes: [],
    })
    expect(await view(1)).toMatchObject({ content: '', replacedBy: { id: 3, content: '' } })
    expect(await view(3)).toMatchObject({ content: '', forgottenAt: expect.any(String) })
    await expect(view(4)).rejects.toThrow('there is no memory "4"')
  })

  test('facts that look alike are all kept, and forgetting one leaves the others as they are', async () => {
    const facts = ['Server db1 has 32 GB of memory', 'Server db2 has 64 GB of memory', 'Server db3 has 96 GB of memory']
    for (const content of facts) expect((await app.remember({ content })).superseded).toEqual([])
    const { near } = await app.remember({ content: 'Server db4 has 96 GB of memory' })
    expect(near).toMatchObject([{ id: 3, createdAt: expect.any(String) }, { id: 2 }, { id: 1 }])
    await app.forgetMemory(4)
    expect((await app.memories({ limit: 9 })).map(({ content }) => content)).toEqual(facts.toReversed())
    for (const content of facts)
      expect((await app.searchMemories(content, { limit: 9 })).memories.map((each) => each.content)).toContain(content)
  })

  test('what a person says anew in the words of another memory becomes that memory', async () => {
    await app.remember({ content: 'The port is 8080' })
    await app.remember({ content: 'The port is 9090' })
    const { memory, superseded } = await app.changeMemory(1, { content: 'the port is 9090' })
    expect({ id: memory.id, superseded: superseded.map(({ id }) => id) }).toEqual({ id: 2, superseded: [1] })
    expect((await app.memories({ limit: 9 })).map(({ id }) => id)).toEqual([2])
  })

  test('a list has the newest first and no more than asked for', async () => {
    for (const text of ['alpha', 'beta', 'gamma']) await app.remember({ content: text })
    expect((await app.memories({ limit: 2 })).map(({ content }) => content)).toEqual(['gamma', 'beta'])
  })
})
