import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import type { ModelRequest } from '../../src/domain/model.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { scriptedModel } from '../../src/testing.ts'
import { type OwnerApp, openOwnerApp } from '../setup/owner-app.ts'
import { type Database, databases, newPlace } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const never = new AbortController().signal
const secret = '993311'
const withheld = '(withheld: it may repeat a memory that was forgotten)'

describe.each(databases)('what was forgotten, on %s', (database) => {
  const test = testOn(database)
  let home: TalkingHome
  afterEach(() => home.remove())

  test('is in no list, view, search, export, explanation or event, nor are summaries that may repeat it', async () => {
    home = await talkingHome(database)
    const { app, folder, ask, requests } = home
    await app.remember({ content: `The vault code is ${secret}`, tags: ['vault'] })
    await app.remember({ content: `Code of the vault: ${secret}` })
    await ask('vault', { summary: `The vault code is ${secret}.`, topic: 'vault' })
    await ask('b', { summary: `Still ${secret}.` })
    await ask('c', { summary: 'All is well.', topic: 'other' })
    expect(JSON.stringify(await app.narratives({ limit: 9 }))).toContain(secret)

    const result = await app.forgetMemory(1)
    expect(result).toMatchObject({ narratives: [1, 2, 3], near: [{ id: 2 }] })
    expect((await app.forgetMemory(2)).near).toEqual([])

    const told = {
      memories: await app.memories({ limit: 9, all: true }),
      found: await app.searchMemories(`vault code ${secret}`, { limit: 9 }),
      exported: await textOf(app.exportMemories({ all: true })),
      narratives: await app.narratives({ limit: 9 }),
      ofFolder: await app.narratives({ folder, limit: 9 }),
      shown: await Promise.all(
        ['memory:1', 'memory:2', 'narrative:1', 'narrative:2', 'narrative:3'].map((each) => app.show(folder, each)),
      ),
      explained: await Promise.all(['memory:1', 'narrative:1', 'narrative:3'].map((each) => app.why(folder, each))),
      events: await app.events({ limit: 1000 }),
      again: await ask('d'),
    }
    expect(told.narratives.map(({ id, summary, withheld: isWithheld }) => ({ id, summary, isWithheld }))).toEqual(
      [3, 2, 1].map((id) => ({ id, summary: withheld, isWithheld: true })),
    )
    for (const [door, answer] of Object.entries(told)) expect(JSON.stringify(answer), door).not.toContain(secret)
    const last = requests.at(-1)
    expect(JSON.stringify([last?.system, last?.note, last?.messages])).not.toContain(secret)
    // What a turn said stays, and so does the session that goes on from it.
    expect(await textOf(app.exportTurns(folder, 'vault'))).toContain(secret)
  })

  test('does not hide a summary that rests on something else', async () => {
    home = await talkingHome(database)
    const { app, ask } = home
    await app.remember({ content: `The vault code is ${secret}` })
    await app.remember({ content: 'Bread is baked at night' })
    await ask('bread', { summary: 'The bakery is busy [id:2].' })
    await app.forgetMemory(1)
    expect(await app.narratives({ limit: 9 })).toMatchObject([{ id: 1, summary: 'The bakery is busy [id:2].' }])
  })
})

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

interface TalkingHome {
  app: OwnerApp
  folder: string
  requests: ModelRequest[]
  /** Says something in a session; the agent writes this summary, if there is one, and answers. */
  ask(session: string, narrative?: { summary: string; topic?: string }): Promise<unknown>
  remove(): Promise<void>
}

async function talkingHome(database: Database): Promise<TalkingHome> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-forgotten-'))
  const paths = homePaths(join(folder, 'home'))
  await ensureHome(paths.home)
  const config = await loadConfig(paths.config, {})
  config.memory.narratives = false
  const server = database === 'postgres' ? newPlace('postgres') : undefined
  if (server?.place.kind === 'postgres') config.database = server.place.url
  const requests: ModelRequest[] = []
  const narratives = new Map<string, object>()
  const model = scriptedModel((request) => {
    requests.push(request)
    const { role, content } = request.messages.at(-1) ?? { role: '', content: '' }
    const input = role === 'user' ? narratives.get(content) : undefined
    return input ? { calls: [{ name: 'narrative_update', input }] } : { text: 'done' }
  })
  const app = await openOwnerApp({ paths, config, env: {}, models: [model], tell: () => undefined })
  const work = await app.work()
  return {
    app,
    folder,
    requests,
    async ask(session, narrative) {
      const content = `what about ${session}?`
      if (narrative) narratives.set(content, narrative)
      const { itemId } = await app.submit(folder, { session, content })
      return app.answer(folder, itemId, never)
    },
    async remove() {
      await work.stop()
      await app.close()
      await server?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
