import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { restoreApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { ModelRequest } from '../../src/domain/model.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { scriptedModel } from '../../src/testing.ts'
import { type OwnerApp, openOwnerApp } from '../setup/owner-app.ts'
import { type Database, newPlace } from '../setup/places.ts'

const never = new AbortController().signal

/** A home whose agent writes the summaries that it is told to write. */
export interface TalkingHome {
  app: OwnerApp
  folder: string
  requests: ModelRequest[]
  /** Says something in a session; the agent writes this summary, if there is one, and answers. */
  ask(session: string, narrative?: { summary: string; topic?: string }): Promise<unknown>
  /** Backs up, restores that backup and opens the home again: `app` is another one then. */
  restore(): Promise<void>
  remove(): Promise<void>
}

export async function talkingHome(database: Database): Promise<TalkingHome> {
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
  const settings = { paths, config, env: {}, models: [model], tell: () => undefined }
  const open = async () => {
    const app = await openOwnerApp(settings)
    return { app, work: await app.work() }
  }
  let { app, work } = await open()
  const close = async () => {
    await work.stop()
    await app.close()
  }
  return {
    get app() {
      return app
    },
    folder,
    requests,
    async ask(session, narrative) {
      const content = `what about ${session}?`
      if (narrative) narratives.set(content, narrative)
      const { itemId } = await app.submit(folder, { session, content })
      return app.answer(folder, itemId, never)
    },
    async restore() {
      const file = join(folder, 'after.backup')
      await app.backup(file)
      await close()
      await restoreApp(settings, file)
      rmSync(file)
      ;({ app, work } = await open())
    },
    async remove() {
      await close()
      await server?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What every door of a home tells about these memories, their words and summaries. */
export async function everythingTold({ app, folder }: TalkingHome, query: string, names: string[]) {
  return {
    memories: await app.memories({ limit: 9, all: true }),
    found: await app.searchMemories(query, { limit: 9 }),
    exported: await textOf(app.exportMemories({ all: true })),
    narratives: await app.narratives({ limit: 9 }),
    ofFolder: await app.narratives({ folder, limit: 9 }),
    shown: await Promise.all(names.map((each) => app.show(folder, each))),
    explained: await Promise.all(names.map((each) => app.why(folder, each))),
    events: await app.events({ limit: 1000 }),
  }
}

export async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}
