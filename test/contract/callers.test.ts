import { describe, expect, onTestFinished, test } from 'vitest'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { findThread, readThreads } from '../../src/store/rows/threads.ts'
import { databases, newTestRuntime } from '../setup/places.ts'
import { expectWhole } from './whole.ts'

const folder = '/contract'
const draft = { query: [{ content: 'question' }], response: { content: 'answer' } }

describe.each(databases)('callers in one process on %s', (database) => {
  async function newContractWorld() {
    const runtime = await newTestRuntime(database)
    onTestFinished(runtime.remove)
    const say = (label: string, parentTurnId?: string) =>
      append(runtime, { folder, label, draft, ...(parentTurnId !== undefined && { parentTurnId }) })
    return { ...runtime, say }
  }

  test('a hundred callers with twenty turns each on ten sessions neither lose nor interleave a turn', async () => {
    const runtime = await newContractWorld()
    const acknowledged: string[] = []
    const caller = async (number: number) => {
      for (let count = 0; count < 20; count++) acknowledged.push((await runtime.say(`s${number % 10}`)).turnId)
    }
    await Promise.all(Array.from({ length: 100 }, (_, number) => caller(number)))
    expect(new Set(acknowledged).size).toBe(2000)
    expect(await expectWhole(runtime, acknowledged)).toEqual(Array(10).fill(200))
  })

  test('each caller is told the depth and the head that its turn really has', async () => {
    const runtime = await newContractWorld()
    const told = await Promise.all(Array.from({ length: 20 }, () => runtime.say('main')))
    const line = await runtime.store.read(async (rows) => {
      const [session] = await findSessions(rows)
      const head = await findThread(rows, session?.headTurnId ?? '')
      return head ? readThreads(rows, head) : []
    })
    const byDepth = told.toSorted((a, b) => a.depth - b.depth)
    expect(byDepth.map(({ turnId, depth }) => ({ turnId, depth }))).toEqual(
      line.map(({ turnId, depth }) => ({ turnId, depth })),
    )
    expect(told.map(({ session, turnId }) => session.headTurnId === turnId)).toEqual(told.map(() => true))
  })

  test('forks made while their parents grow begin where they were told and never move the head they left', async () => {
    const runtime = await newContractWorld()
    const { turnId } = await runtime.say('trunk')
    const grow = async (label: string, count: number) => {
      for (let turn = 0; turn < count; turn++) await runtime.say(label)
    }
    const branch = async (label: string) => {
      await fork(runtime, { folder, turnId, label })
      await grow(label, 5)
    }
    const labels = Array.from({ length: 8 }, (_, number) => `branch-${number}`)
    await Promise.all([grow('trunk', 20), ...labels.map(branch)])

    const lines = await runtime.store.read(async (rows) => {
      const found: Record<string, number[]> = {}
      for (const { label, headTurnId } of await findSessions(rows)) {
        const head = await findThread(rows, headTurnId ?? '')
        const line = head ? await readThreads(rows, head) : []
        expect(line[0]).toMatchObject({ turnId, hasChildren: true })
        found[label] = line.map(({ depth }) => depth)
      }
      return found
    })
    const upTo = (depth: number) => Array.from({ length: depth }, (_, index) => index + 1)
    expect(lines).toEqual({ trunk: upTo(21), ...Object.fromEntries(labels.map((label) => [label, upTo(6)])) })
  })

  test('of two writers that extend the same head one does, and the other is told not_head', async () => {
    const runtime = await newContractWorld()
    const { turnId } = await runtime.say('main')
    const results = await Promise.allSettled([runtime.say('main', turnId), runtime.say('main', turnId)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const refusal = results.find((result) => result.status === 'rejected')?.reason
    const head = results.find((result) => result.status === 'fulfilled')?.value.turnId
    expect(refusal).toMatchObject({ code: 'not_head', message: expect.stringContaining(`turn:${head}`) })
    expect(await expectWhole(runtime, [turnId, head ?? ''])).toEqual([2])
  })

  test('two labels on one tip grow apart and never collide', async () => {
    const runtime = await newContractWorld()
    const { turnId } = await runtime.say('main')
    await fork(runtime, { folder, turnId, label: 'other' })
    const told = await Promise.all(['main', 'other', 'main', 'other'].map((label) => runtime.say(label)))
    expect(told.map(({ depth }) => depth).sort()).toEqual([2, 2, 3, 3])
    const places = told.map(({ session, depth }) => `${session.segmentId}/${depth}`)
    expect(new Set(places).size).toBe(4)
  })
})
