import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts'
import { openTestApp, type TestApp } from '../../src/testing.ts'

let app: TestApp | undefined
afterEach(() => app?.remove())

const never = new AbortController().signal

async function open(agent = 'general'): Promise<{ app: TestApp; model: ScriptedModel }> {
  const model = scriptedModel([{ text: 'hello' }], { name: 'main' })
  const opened = await openTestApp({ models: [model], agent })
  app = opened
  return { app: opened, model }
}

function writeAgent({ home }: TestApp, name: string, head: string, body = 'You draw.'): void {
  mkdirSync(join(home, 'skills'), { recursive: true })
  writeFileSync(join(home, 'skills', `${name}.md`), `---\nname: ${name}\n${head}\n---\n${body}\n`)
}

const asking = 'description: Draws.\ntriggers: [map]\ntools: []\n'

test.each([{ content: '@drawer a map' }, { content: 'a map', agent: 'drawer' }])(
  'an agent whose model is unknown is refused with the remedy before anything is stored: %o',
  async (asked) => {
    const { app, model } = await open()
    writeAgent(app, 'drawer', `${asking}model: mian`)
    const refusal = {
      code: 'agent_unusable',
      message: '@drawer cannot be used: there is no model mian in heddle.yaml',
      remedy: `did you mean main? (${join(app.home, 'skills/drawer.md')}:6)`,
    }
    await expect(app.submit('/here', { session: 'main', ...asked })).rejects.toMatchObject(refusal)
    await expect(app.checkAgent('/here', 'drawer')).rejects.toMatchObject(refusal)
    expect(await app.agents('/here')).not.toContainEqual(expect.objectContaining({ name: 'drawer' }))
    expect((await app.sessions()).rows).toEqual([])
    expect(model.requests).toEqual([])
  },
)

test.each(['@drawer a map', '@Drawer a map', '@DRAWER: a map', ' \n@drawer, a map'])(
  '%j is for the agent of that name, whatever its case',
  async (content) => {
    const { app, model } = await open()
    writeAgent(app, 'drawer', asking)
    await app.work()
    const { itemId } = await app.submit('/here', { session: 'main', content })
    expect(await app.answer('/here', itemId, never)).toMatchObject({ status: 'completed' })
    expect(model.requests[0]?.system).toContain('You draw.')
    expect(model.requests[0]?.messages.at(-1)?.content).toBe('a map')
  },
)

test.each(['@drawer', '@Drawer ', '@drawer:'])('%j alone is refused: nothing is asked', async (content) => {
  const { app } = await open()
  writeAgent(app, 'drawer', asking)
  await expect(app.submit('/here', { session: 'main', content })).rejects.toMatchObject({
    code: 'missing_argument',
    message: 'no message for @drawer',
    remedy: 'write it after the name: heddle ask "@drawer …"',
  })
  expect((await app.sessions()).rows).toEqual([])
})

test('an agent may name a model that the program was given, and the script that stands in for one', async () => {
  const { app } = await open()
  writeAgent(app, 'drawer', `${asking}model: main`)
  writeAgent(app, 'actor', `${asking}model: rehearsal`)
  await app.checkAgent('/here', 'drawer')
  await app.checkAgent('/here', 'actor')
})

test('a default agent that is not there refuses what is asked of it with the nearest name, before anything is stored', async () => {
  const { app } = await open('genral')
  await expect(app.submit('/here', { session: 'main', content: 'hello' })).rejects.toMatchObject({
    code: 'agent_unknown',
    message: 'agent.default is @genral, but there is no such agent',
    remedy: 'did you mean @general? heddle config set agent.default @general',
  })
  expect((await app.sessions()).rows).toEqual([])
  const { itemId } = await app.submit('/here', { session: 'main', content: '@general hello' })
  const work = await app.work()
  expect(await app.answer('/here', itemId, never)).toMatchObject({ text: 'hello' })
  await work.stop()
})

test('no line of the instructions of an agent without a description is in the coordinator’s prompt', async () => {
  const { app, model } = await open('coordinator')
  writeAgent(app, 'drawer', 'triggers: [map]\ntools: []', 'Secret first line.\nSecret second line.')
  const { itemId } = await app.submit('/here', { session: 'main', content: 'hello' })
  const work = await app.work()
  await app.answer('/here', itemId, never)
  await work.stop()
  const shown = JSON.stringify(model.requests)
  expect(shown).toContain('- @drawer: (no description)')
  expect(shown).not.toContain('Secret')
})
