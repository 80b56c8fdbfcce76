import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { CommandOutcome } from '../../src/api/commands.ts'
import { registry } from '../../src/commands/registry.ts'
import { type ScriptedModel, scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from '../gateway/gateway.ts'
import { hostileTexts } from '../gateway/hostile-values.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const never = new AbortController().signal

let gateway: TestGateway
let model: ScriptedModel

async function ask(app: App, content: string, session = 'main') {
  const { itemId } = await app.submit(folder, { session, content })
  return app.answer(folder, itemId, never)
}

/** Everything that a line could have reached. */
async function traces({ app }: TestGateway) {
  const runs = (await app.runs({ all: true, limit: 1000 })).rows.length
  const inputs = (await app.events({ limit: 1000 })).filter(({ kind }) => kind.startsWith('input.')).length
  return { runs, inputs, requests: model.requests.length }
}

describe.each(databases)('commands on %s', (database) => {
  const test = testOn(database)
  beforeAll(async () => {
    model = scriptedModel(() => ({ text: '/stop' }))
    gateway = await newGateway([model], { database })
    await ask(gateway.app, 'one')
    await ask(gateway.app, 'two', 'second')
  })
  afterAll(() => gateway.remove())

  const on = (door: 'App' | 'socket'): App => (door === 'App' ? gateway.app : gateway.door)

  test.each(registry.map(({ name, example }) => [name, example] as const))(
    '/%s gives the same on both doors, and reaches no inbox and no model',
    async (_, example) => {
      const before = await traces(gateway)
      const come = async (door: 'App' | 'socket') => {
        try {
          // An agent can be registered once.
          const line = example.replace('@editor', `@editor-${door.toLowerCase()}`)
          return shapeOf(await on(door).command(folder, { session: 'main', line }))
        } catch (error) {
          // An example may name what is not there.
          return { code: (error as { code?: string }).code, remedy: (error as { remedy?: string }).remedy }
        }
      }
      const inProcess = await come('App')
      expect(await come('socket')).toEqual(inProcess)
      expect(await traces(gateway)).toEqual(before)
    },
  )

  test.each(['App', 'socket'] as const)('by the %s a chat is led: session, model, thinking, end', async (door) => {
    const send = (line: string, session = 'main') => on(door).command(folder, { session, line })
    expect(await send('/new')).toMatchObject({ go: { session: 'chat-2', isNew: true }, next: 'back: /switch main' })
    expect(await send('/switch second')).toMatchObject({ go: { session: 'second', isNew: false } })
    const { go } = await send('/fork main')
    expect((await gateway.app.sessions({ folder, label: go?.session ?? '' })).rows).toHaveLength(1)
    expect(await send('/model scripted')).toMatchObject({ voice: { model: 'scripted' } })
    expect(await send('/think high')).toMatchObject({ voice: { thinking: 'high' } })
    expect(await send('/steer use\nport 80')).toEqual({ blocks: [], say: { kind: 'steer', content: 'use\nport 80' } })
    expect(await send('/exit')).toEqual({ blocks: [], leave: true })
    await expect(send('/model scrypted')).rejects.toMatchObject({ remedy: 'did you mean scripted?' })
    await expect(send('/switch secnd')).rejects.toMatchObject({ remedy: 'did you mean /switch second?' })
  })

  test('hostile texts as any argument of any command are taken or refused, and reach nothing', async () => {
    const before = await traces(gateway)
    const texts = hostileTexts().map((text) => text.slice(0, 2000))
    for (const { name, example } of registry)
      for (const text of texts)
        for (const line of [`/${name} ${text}`, `${example} ${text}`, `/${name} 1 ${text}`, `/${name} --${text}`]) {
          const error = await gateway.app.command(folder, { session: 'main', line }).then(
            () => undefined,
            (refusal) => refusal,
          )
          if (error !== undefined) expect({ line, error }).toMatchObject({ error: { remedy: expect.any(String) } })
        }
    expect(await traces(gateway)).toEqual(before)
  })

  test('/search shows the words that it found near the beginning of their line, where no table cuts them off', async () => {
    await ask(gateway.app, 'a sentence that goes on for quite some time before it comes to the zebra at last')
    const { blocks } = await gateway.app.command(folder, { session: 'main', line: '/search zebra' })
    expect(JSON.stringify(blocks)).toContain('"… it comes to the zebra at last')
  })

  test('what a model answers is never a command', async () => {
    const sessions = await gateway.app.countSessions({ folder })
    // The model answers "/stop" to everything.
    expect(await ask(gateway.app, 'say a command')).toMatchObject({ status: 'completed', text: '/stop' })
    expect(await gateway.app.countSessions({ folder })).toBe(sessions)
  })
})

/** An outcome without what differs from one call to the next. */
function shapeOf({ blocks, go, next, ...more }: CommandOutcome) {
  return { ...more, hasNext: next !== undefined, kinds: blocks.map(({ kind }) => kind), ...(go && { isNew: go.isNew }) }
}
