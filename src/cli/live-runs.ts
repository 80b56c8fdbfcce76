import type { App, RunLine, RunView, TurnView } from '../domain/app.ts'
import type { Door } from '../gateway/api.ts'
import type { Looks } from './telling.ts'

export interface Place {
  session: string
  folder: string
}

/** What is under way, each with the session that asked for it in the first place. */
export async function liveRuns(app: App): Promise<{ line: RunLine; root: Place }[]> {
  const live = await app.runs()
  return Promise.all(
    live.map(async (line) => {
      const { session, folder } = line.depth === 0 ? line : await runView(app, line.rootRunId)
      return { line, root: { session: session ?? '', folder: folder ?? '' } }
    }),
  )
}

/** What is under way for one session, whoever does it. */
export async function runsAt(app: App, place: Place): Promise<RunLine[]> {
  return (await liveRuns(app)).filter(({ root }) => isAt(root, place)).map(({ line }) => line)
}

export function isAt(place: Place, other: Place): boolean {
  return place.session === other.session && place.folder === other.folder
}

export async function runView(app: App, id: string): Promise<RunView> {
  return (await app.show('/', `run:${id}`)) as RunView
}

/** What a talk looks up about what it is told. */
export function looksInto(app: App, ask: <T>(what: (door: Door) => Promise<T>) => Promise<T>): Looks {
  return {
    turn: async (id) => (await app.show('/', `turn:${id}`)) as TurnView,
    run: (id) => runView(app, id),
    plan: (id) => ask((door) => door.plan(`plan:${id}`)),
    plans: (folder) => ask((door) => door.plans({ folder })),
  }
}
