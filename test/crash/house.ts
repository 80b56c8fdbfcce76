import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { restoreApp, type StoreSettings } from '../../src/app/store.ts'
import { configSet } from '../../src/config/set.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { systemClock } from '../../src/system.ts'
import type { OwnerApp } from '../setup/owner-app.ts'
import type { Kept } from './said.ts'

/** What people do with a home that does no work yet. They look before each step whether it was done already. */
export interface House {
  /** Appends a turn, forks it, renames the fork, adds a persona, imports a copy of the turn, removes old events. */
  growTree(): Promise<void>
  /** Stores a memory. */
  remember(content: string): Promise<void>
  /** Sets a value in the configuration. */
  configure(key: string, value: string): Promise<void>
  /** Appends a turn, writes a backup, restores it, and appends another turn. */
  backUpAndRestore(): Promise<void>
}

interface HouseContext {
  open(): Promise<OwnerApp>
  settings: Required<Pick<StoreSettings, 'paths' | 'config' | 'env' | 'context'>>
  folder: string
  /** Tells that something is done, and must stay so. */
  tell(kept: Kept): void
}

const elsewhere = 'kept elsewhere'

export function houseOf({ open, settings, folder, tell }: HouseContext): House {
  const { paths } = settings
  const within = async (act: (app: OwnerApp) => Promise<void>) => {
    const app = await open()
    await act(app)
    await app.close()
  }
  const has = async (app: OwnerApp, label: string) =>
    (await app.sessions({ folder })).rows.some((session) => session.label === label)
  const append = async (app: OwnerApp, session: string, content: string) => {
    const draft = { query: [{ content }], response: { content: 'noted' } }
    if (!(await has(app, session))) await app.append(folder, { session, draft })
    tell({ kept: 'turn', name: content })
  }
  return {
    growTree: () =>
      within(async (app) => {
        await append(app, 'tree', 'kept by hand')
        const [tip] = await app.log(folder, { of: 'tree' })
        if (!(await has(app, 'side')) && !(await has(app, 'renamed')))
          await app.fork(folder, { turn: `turn:${tip?.id}`, label: 'side' })
        if (await has(app, 'side')) await app.renameSession(folder, 'side', 'renamed')
        tell({ kept: 'session', name: 'renamed' })
        await app.setPersona({
          id: 'gardener',
          identity: { name: 'Gardener', soul: 'calm' },
          permissions: { tools: {} },
        })
        tell({ kept: 'persona', name: 'gardener' })
        await app.importTurns(copyOf(app.exportTurns(folder, 'tree')))
        tell({ kept: 'turn', name: elsewhere })
        await app.prune()
      }),
    remember: (content) =>
      within(async (app) => {
        const isThere = (await app.memories({ limit: 10 })).some((memory) => memory.content === content)
        if (!isThere) await app.remember({ content })
        tell({ kept: 'memory', name: content })
      }),
    async configure(key, value) {
      await configSet(paths.config, key, value, {
        env: {},
        clock: systemClock,
        previousConfigs: paths.previousConfigs,
        ...(settings.context.crash && { crash: settings.context.crash }),
      })
      tell({ kept: 'setting', name: `${key}: ${value}` })
    },
    async backUpAndRestore() {
      const file = join(dirname(paths.config), '..', 'house.backup')
      let isDone = false
      const backUp = () =>
        within(async (app) => {
          isDone = await has(app, 'restored')
          await append(app, 'backed-up', 'kept before the backup')
          if (!existsSync(file)) await app.backup(file)
          tell({ kept: 'backup', name: file })
        })
      // A restore that was interrupted asks for another.
      await backUp().catch((error) => {
        if (!(error instanceof HeddleError && error.code === 'restore_unfinished')) throw error
      })
      if (!isDone) await restoreApp(settings, file)
      await within((app) => append(app, 'restored', 'kept after the restore'))
    },
  }
}

/** The same turns as another home would have them: other ids, other words. */
async function* copyOf(lines: AsyncIterable<string>): AsyncIterable<string> {
  for await (const line of lines) {
    const { sessions: _, ...turn } = JSON.parse(line)
    const text = JSON.stringify({ ...turn, sessions: [] }).replaceAll('kept by hand', elsewhere)
    yield text.replace(
      /"(?=[0-9a-z]{20}")[0-9a-z]{19}(.)"/g,
      (id) => `${id.slice(0, -2)}${id.at(-2) === '0' ? '1' : '0'}"`,
    )
  }
}
