import { afterEach, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/domain/model.ts'
import { memoryWriters } from '../../src/domain/tools/tool-names.ts'
import { gate, openTestApp, scriptedModel, type TestApp } from '../../src/testing.ts'

let app: TestApp | undefined
afterEach(() => app?.remove())

const never = new AbortController().signal
const folder = '/here'

const inputs: Record<(typeof memoryWriters)[number], object> = {
  memory_store: { content: 'The port is 8443.' },
  memory_update: { id: 1, content: 'The port is 1.' },
  memory_reinforce: { id: 1 },
  memory_demote: { id: 1 },
  memory_trust: { id: 1 },
  remember: { content: 'The port is 8443.' },
  narrative_update: { summary: 'A child was here.' },
}

function writesAll() {
  return { calls: memoryWriters.map((name) => ({ name, input: inputs[name] })) }
}

function toolsIn({ tools }: ModelRequest): string[] {
  return tools.map(({ name }) => name).filter((name) => (memoryWriters as readonly string[]).includes(name))
}

test('a child of sessions_spawn has no tool that writes memory or narrative, before and after it is claimed again', async () => {
  const hold = gate()
  const seen: string[][] = []
  const model = scriptedModel((request) => {
    const last = request.messages.at(-1)
    const isChild = request.messages[0]?.content === 'child'
    if (isChild) {
      seen.push(toolsIn(request))
      if (last?.role !== 'tool') return writesAll()
      return seen.length === 2 ? { gate: hold, ...writesAll() } : { text: 'done' }
    }
    if (last?.role === 'tool') return { text: 'started' }
    return last?.content === 'go'
      ? { calls: [{ name: 'sessions_spawn', input: { task: 'child' } }] }
      : { text: 'heard' }
  })
  app = await openTestApp({ models: [model] })
  await app.remember({ content: 'The printer stands in room 4.' })
  const before = await app.memories({ limit: 10, all: true })
  const first = await app.work()
  const { itemId } = await app.submit(folder, { session: 'main', content: 'go' })
  await hold.reached
  // The run goes back to the queue and is claimed anew.
  await first.stop()
  hold.open()
  const second = await app.work()
  expect(await app.answer(folder, itemId, never)).toMatchObject({ status: 'completed', text: 'heard' })
  await second.stop()
  expect(seen.length).toBeGreaterThan(2)
  expect(new Set(seen.flat())).toEqual(new Set())
  const child = (await app.runs({ all: true })).rows.find(({ session }) => session?.includes('subagent'))
  const run = await app.show(folder, `run:${child?.id}`)
  const view = await app.show(folder, `turn:${run.kind === 'run' ? run.turnId : ''}`)
  const calls = view.kind === 'turn' ? view.toolCalls : []
  expect(new Set(calls.map(({ status }) => status))).toEqual(new Set(['forbidden']))
  expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(memoryWriters))
  expect(await app.memories({ limit: 10, all: true })).toEqual(before)
  expect(await app.narratives({ limit: 10 })).toEqual([])
})

test('who talks with a person writes memories as before', async () => {
  const model = scriptedModel((request) => {
    if (request.messages.at(-1)?.role === 'tool') return { text: toolsIn(request).join(' ') }
    return { calls: [{ name: 'remember', input: inputs.remember }] }
  })
  app = await openTestApp({ models: [model] })
  const work = await app.work()
  const { itemId } = await app.submit(folder, { session: 'main', content: 'go' })
  expect(await app.answer(folder, itemId, never)).toMatchObject({
    text: 'remember memory_update memory_reinforce memory_demote narrative_update',
  })
  await work.stop()
  expect(await app.memories({ limit: 10 })).toMatchObject([{ content: 'The port is 8443.' }])
})
