import { readFileSync } from 'node:fs'
import type { Config } from './config/config.ts'
import type { App } from './domain/app.ts'
import { crashAt } from './domain/crash-points.ts'
import { idSource } from './domain/id.ts'
import { append } from './engine/append.ts'
import { fork } from './engine/fork.ts'
import { contextPath, diffPaths, listPath, listTips, listTree, turnLines } from './engine/history.ts'
import { routeToThread } from './engine/route.ts'
import { archive, listSessions, rename, setPersona } from './engine/sessions.ts'
import { show } from './engine/show.ts'
import { exportTurns, importTurns } from './engine/transfer.ts'
import type { World } from './engine/world.ts'
import type { HomePaths } from './home/home.ts'
import { backupBeforeUpgrade, writeBackup } from './store/backup.ts'
import { followEvents, pruneEvents, readEvents } from './store/events.ts'
import { openStore, type Place } from './store/open.ts'
import { listPersonas } from './store/personas.ts'
import { restoreBackup } from './store/restore.ts'
import type { Store, StoreContext } from './store/store.ts'
import { systemClock, systemRandom } from './system.ts'

const day = 86_400_000

export const version: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

/** What decides which heddle is opened. */
export interface AppSettings {
  paths: HomePaths
  config: Pick<Config, 'database' | 'durability' | 'retention'>
  env: NodeJS.ProcessEnv
  /** Told in plain words what a person should know, such as a schema that was upgraded. */
  tell?(text: string): void
  context?: Partial<StoreContext>
}

/** Opens a heddle: the one place where every room is put together. */
export async function openApp(settings: AppSettings): Promise<App> {
  const context = contextOf(settings)
  const store = await openStore(placeOf(settings), context, {
    async beforeUpgrade(before, from, to) {
      const file = await backupBeforeUpgrade(before, settings.paths.backups, from, backupOptions(context))
      settings.tell?.(`upgrading the schema from ${from} to ${to}; to go back: heddle restore ${file}`)
    },
  })
  const world: World = { store, clock: context.clock, newId: idSource(context.clock, context.random) }
  return assemble(world, store, context, settings)
}

/** Puts a backup in the place of what this home holds, which is kept aside. */
export function restoreApp(settings: AppSettings, file: string) {
  return restoreBackup(placeOf(settings), file, { context: contextOf(settings) })
}

function assemble(world: World, store: Store, context: StoreContext, { config }: AppSettings): App {
  const thread = (folder: string, text: string) => store.read((rows) => routeToThread(rows, text, folder))
  return {
    sessions: (filter) => store.read((rows) => listSessions(rows, filter)),
    renameSession: (folder, session, label) => rename(world, folder, session, label),
    archiveSession: (folder, session, archived) => archive(world, folder, session, archived),
    async append(folder, { session, draft, parent, persona }) {
      const appended = await append(world, {
        folder,
        label: session,
        draft,
        ...(parent !== undefined && { parentTurnId: (await thread(folder, parent)).turnId }),
        ...(persona !== undefined && { personaId: persona }),
      })
      return { turnId: appended.turnId, session: appended.session.label, depth: appended.depth }
    },
    async fork(folder, { turn, label, persona }) {
      const { turnId } = await thread(folder, turn)
      const session = await fork(world, {
        folder,
        turnId,
        ...(label !== undefined && { label }),
        ...(persona !== undefined && { personaId: persona }),
      })
      return { session: session.label, headTurnId: turnId }
    },
    log: (folder, { of = 'main', all, limit }) =>
      store.read(async (rows) =>
        all ? listTree(rows) : listPath(rows, await routeToThread(rows, of, folder), limit || undefined),
      ),
    tips: () => store.read(listTips),
    context: (folder, of) =>
      store.read(async (rows) => turnLines(rows, await contextPath(rows, await routeToThread(rows, of, folder)))),
    show: (folder, reference) => store.read((rows) => show(rows, reference, folder)),
    diff: (folder, a, b) =>
      store.read(async (rows) =>
        diffPaths(rows, await routeToThread(rows, a, folder), await routeToThread(rows, b, folder)),
      ),
    exportTurns: (folder, session) => linesOf(store, folder, session),
    importTurns: (lines) => importTurns(world, lines),
    personas: () => store.read(listPersonas),
    setPersona: (persona) => setPersona(world, persona),
    events: ({ after, limit }) => store.read((rows) => readEvents(rows, after, limit)),
    follow: (query) => followEvents(store, context, query),
    async prune() {
      const before = context.clock.now() - config.retention.eventDays * day
      return { events: await store.write('prune', (tx) => pruneEvents(tx, before)) }
    },
    backup: (file) => writeBackup(store, file, backupOptions(context)),
    close: () => store.close(),
  }
}

async function* linesOf(store: Store, folder: string, session: string | undefined): AsyncIterable<string> {
  const end = session === undefined ? undefined : await store.read((rows) => routeToThread(rows, session, folder))
  for await (const turn of exportTurns(store, end)) yield JSON.stringify(turn)
}

/** Where a home's rows are. */
export function placeOf({ paths, config }: Pick<AppSettings, 'paths' | 'config'>): Place {
  return config.database === 'sqlite'
    ? { kind: 'sqlite', file: paths.database, durability: config.durability }
    : { kind: 'postgres', url: config.database }
}

function contextOf({ env, context }: AppSettings): StoreContext {
  const crash = crashAt(env['HEDDLE_CRASH_AT'], () => process.kill(process.pid, 'SIGKILL'))
  return { clock: systemClock, random: systemRandom, crash, ...context }
}

function backupOptions({ clock, crash }: StoreContext) {
  return { clock, crash, heddleVersion: version }
}
