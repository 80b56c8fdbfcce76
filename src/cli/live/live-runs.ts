import type { App } from '../../api/app.ts'
import type { RunLine, RunView } from '../../api/views/run.ts'
import type { TurnView } from '../../api/views/turn.ts'
import type { Client } from '../../gateway/api.ts'
import { readPages } from '../input/pages.ts'
import type { Lookups } from './session-renderer.ts'

export interface WatchTarget {
  session: string
  folder: string
}

/** Active runs, each with the session of its request. */
export async function liveRuns(app: App): Promise<{ line: RunLine; root: WatchTarget }[]> {
  const { rows: live } = await readPages((page) => app.runs(page), { limit: 0, newest: 'last' })
  return Promise.all(
    live.map(async (line) => {
      const { session, folder } = line.depth === 0 ? line : await runView(app, line.rootRunId)
      return { line, root: { session: session ?? '', folder: folder ?? '' } }
    }),
  )
}

/** Active runs of the requests of one session, those of its agents included. */
export async function runsOfTarget(app: App, place: WatchTarget): Promise<RunLine[]> {
  return (await liveRuns(app)).filter(({ root }) => isSameTarget(root, place)).map(({ line }) => line)
}

export function isSameTarget(place: WatchTarget, other: WatchTarget): boolean {
  return place.session === other.session && place.folder === other.folder
}

export async function runView(app: App, id: string): Promise<RunView> {
  return (await app.show('/', `run:${id}`)) as RunView
}

/** Lookups of a session renderer. */
export function lookupsOf(ask: <T>(what: (client: Client) => Promise<T>) => Promise<T>): Lookups {
  return {
    turn: async (id) => (await ask((client) => client.show('/', `turn:${id}`))) as TurnView,
    run: (id) => ask((client) => client.run(id)),
    plan: (id) => ask((client) => client.plan(`plan:${id}`)),
    plans: (folder) => ask((client) => client.plans({ folder })),
  }
}
