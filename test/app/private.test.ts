import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import type { UserRole } from '../../src/domain/access/principal.ts'
import { stepsIn } from '../../src/domain/event.ts'
import { scriptedModel, type TestApp } from '../../src/testing.ts'
import { openWorkingApp } from './working-app.ts'

const folder = '/here'
const never = new AbortController().signal
const gone = { code: 'not_found' }
const refused = { code: 'forbidden' }
const told = 'Ada waters the plants'

let heddle: TestApp
afterEach(() => heddle.remove())

async function open(narratives: boolean): Promise<void> {
  const model = scriptedModel(({ messages, tools }) => {
    const last = messages.at(-1)
    if (String(last?.content).includes('## New in session')) return { text: told }
    if (last?.role === 'user' && last.content === 'look it up' && tools.some(({ name }) => name === 'memory_query'))
      return { calls: [{ name: 'memory_query', input: { query: 'safe' } }] }
    return { text: 'done' }
  })
  heddle = await openWorkingApp({ models: [model], agent: 'coordinator', narratives })
}

async function user(id: string, role: UserRole): Promise<App> {
  await heddle.addUser(id, { role, folder })
  const { token } = await heddle.createToken(id)
  return heddle.as(await heddle.identify(token))
}

async function ask(app: App, content: string, session = 'main') {
  const { itemId } = await app.submit(folder, { session, content })
  return app.answer(folder, itemId, never)
}

test("what the narrator writes, its session, runs and turns, is no admin's to see, by no list and no name", async () => {
  await open(true)
  const ada = await user('ada', 'admin')
  const ended = new AbortController()
  // Fewer new words are not worth a narrative.
  await ask(heddle, 'water every rose, tulip, lily, daisy, orchid, poppy, violet, iris, aster, dahlia, peony and lilac')
  for await (const _ of heddle.follow({ signal: ended.signal }))
    if ((await heddle.narratives({ limit: 1 })).length > 0) ended.abort()
  const { rows } = await heddle.runs({ all: true })
  const narrator = rows.find(({ agent }) => agent === 'narrator')
  const [session] = (await heddle.sessions({ kind: 'narrator' })).rows
  const turn = (await heddle.log(folder, { all: true })).find(({ requestId }) => requestId === narrator?.id)
  expect(turn).toBeDefined()

  const named = [`run:${narrator?.id}`, `turn:${turn?.id}`, `session:${session?.label}`, `owner:${session?.label}`]
  for (const reference of named) {
    await expect(ada.show(folder, reference), reference).rejects.toMatchObject(gone)
    await expect(ada.log(folder, { of: reference }), reference).rejects.toMatchObject(gone)
    await expect(ada.context(folder, reference), reference).rejects.toMatchObject(gone)
    await expect(ada.fork(folder, { turn: reference }), reference).rejects.toMatchObject(gone)
  }
  const lists = [
    await ada.runs({ all: true }),
    await ada.sessions(),
    await ada.log(folder, { all: true }),
    await ada.tips(),
    await ada.events({ limit: 1000 }),
    await ada.status(folder, 0),
  ]
  const text = JSON.stringify(lists)
  for (const word of [told, 'Previous summary', narrator?.id, turn?.id, session?.id]) expect(text).not.toContain(word)
  expect((await ada.sessions({ kind: 'narrator' })).rows).toEqual([])
  expect((await ada.runs({ all: true })).rows).toHaveLength(1)
})

test("a fork of the owner's turn does not let an admin take it away: an export would hold the owner's files", async () => {
  await open(false)
  writeFileSync(join(heddle.home, 'USER.md'), '# You\nThe owner is Ada Lovelace.')
  const ada = await user('ada', 'admin')
  const { turnId } = await ask(heddle, 'hello')
  await ada.fork(folder, { turn: `turn:${turnId}`, label: 'side' })
  await ask(ada, 'go on', 'side')
  await expect(linesOf(ada, 'side')).rejects.toMatchObject(refused)
  await ask(ada, 'of my own', 'other')
  const own = await linesOf(ada, 'other')
  expect(own.map(({ prompt, sessions }) => [prompt, sessions.length])).toEqual([[null, 1]])
  expect((await linesOf(heddle, 'main'))[0]?.prompt).toContain('Ada Lovelace')
})

test('what a run recalled is not shown to an admin who looks at its turn', async () => {
  await open(false)
  await heddle.remember({ content: 'the safe opens with 1234' })
  const { turnId } = await ask(heddle, 'look it up')
  const show = async (app: App) => ((await app.show(folder, `turn:${turnId}`)) as TurnView).toolCalls
  expect(JSON.stringify(await show(heddle))).toContain('1234')
  expect(await show(await user('ada', 'admin'))).toMatchObject([
    { name: 'memory_query', input: '(private to the owner)', output: '(private to the owner)' },
  ])
  const steps = async (app: App) =>
    (await app.events({})).flatMap(stepsIn).filter((step) => step['name'] === 'memory_query')
  const [owners, admins] = [await steps(heddle), await steps(heddle.as({ kind: 'user', id: 'ada', role: 'admin' }))]
  expect(owners.map(({ about }) => about)).toContain('safe')
  expect(admins).toEqual(owners.map(({ about: _, ...payload }) => payload))
})

test('a user is not told of sessions of others that continue its turns', async () => {
  await open(false)
  const omar = await user('omar', 'operator')
  const { turnId } = await ask(omar, 'hello')
  await heddle.fork(folder, { turn: `turn:${turnId}`, label: 'what-omar-wants' })
  const lines = [await omar.log(folder, {}), await omar.log(folder, { all: true }), await omar.context(folder, 'main')]
  for (const [line] of lines) expect(line?.session).toBe('user:omar:main')
  expect((await omar.tips())[0]?.session).toBe('user:omar:main')
  expect(await omar.show(folder, `turn:${turnId}`)).toMatchObject({ sessions: ['user:omar:main'] })
  expect((await linesOf(omar, 'main')).flatMap(({ sessions }) => sessions.map(({ label }) => label))).toEqual([
    'user:omar:main',
  ])
})

test("a user starts sessions under labels of its own, never under one that the owner's next question would go to", async () => {
  await open(false)
  const omar = await user('omar', 'operator')
  const badLabel = { code: 'bad_label' }
  await expect(omar.submit(folder, { session: 'owner:main', content: 'x' })).rejects.toMatchObject({
    code: 'not_found',
  })
  const { turnId } = await ask(omar, 'hello')
  await expect(omar.fork(folder, { turn: 'main', label: 'owner:side' })).rejects.toMatchObject(badLabel)
  await expect(omar.renameSession(folder, 'main', 'owner:main')).rejects.toMatchObject(badLabel)
  await expect(omar.submit(folder, { session: 'user:omar:', content: 'x' })).rejects.toMatchObject(badLabel)
  const { session } = await omar.fork(folder, { turn: `turn:${turnId}` })
  expect(session).toMatch(/^user:omar:fork-/)
  expect(await omar.log(folder, { of: session })).toHaveLength(1)
})

test('a user is answered the same about a session of another and one that does not exist', async () => {
  await open(false)
  const omar = await user('omar', 'operator')
  await ask(await user('ada', 'admin'), 'hello')
  await ask(heddle, 'hello')
  const answers = async (label: string) => {
    const calls = [
      omar.submit(folder, { session: label, content: 'x' }),
      omar.setPin(folder, { scope: 'session', agentId: '@writer', session: label }),
      omar.pins(folder, label),
      omar.addJob(folder, { every: '1h', event: 'x', session: label }),
      omar.addJob(folder, { every: '1h', message: 'x', deliver: [`session:${label}`] }),
    ]
    const told = await Promise.allSettled(calls)
    return told.map((each) => (each.status === 'fulfilled' ? 'done' : `${each.reason.code} ${each.reason.message}`))
  }
  const named = (told: string[], label: string) => told.map((text) => text.replaceAll(label, 'LABEL'))
  const [theirs, nobodys] = ['user:ada:main', 'user:nobody:main']
  const expected = Array.from({ length: 5 }, () => 'not_found there is no session "LABEL" here')
  expect(named(await answers(theirs), theirs)).toEqual(expected)
  expect(named(await answers(nobodys), nobodys)).toEqual(expected)
  expect(named(await answers('owner:main'), 'owner:main')).toEqual(expected)
  expect(named(await answers('owner:none'), 'owner:none')).toEqual(expected)
})

test('what a persona is like is for admins and the owner to see, in the list as by its name', async () => {
  await open(false)
  const permissions = { tools: {} }
  await heddle.setPersona({ id: 'atlas', identity: { name: 'Atlas', soul: 'knows the safe' }, permissions })
  const [omar, ada] = [await user('omar', 'operator'), await user('ada', 'admin')]
  await expect(omar.personas()).rejects.toMatchObject(refused)
  await expect(omar.show(folder, 'persona:atlas')).rejects.toMatchObject(refused)
  expect((await ada.personas()).map(({ id }) => id)).toEqual(['atlas'])
})

async function linesOf(app: App, session: string) {
  const lines: { prompt: string | null; sessions: { label: string }[] }[] = []
  for await (const line of app.exportTurns(folder, session)) lines.push(JSON.parse(line))
  return lines
}
