import type { App } from '../domain/app.ts'
import { folderNamed, folderToWorkIn, type OwnFolders } from './folder.ts'

/**
 * The same App with one name for each folder, whichever way a caller spells it. What begins or goes on with work there is
 * refused where no agent may work: here, so that it holds for every caller.
 */
export function withRealFolders(app: App, own: OwnFolders): App {
  const work = (folder: string) => folderToWorkIn(folder, own)
  const named = folderNamed
  const filtered = async <T extends { folder?: string }>(filter: T | undefined) =>
    filter?.folder === undefined ? filter : { ...filter, folder: await named(filter.folder) }
  return {
    ...app,
    submit: async (folder, question) => app.submit(await work(folder), question),
    append: async (folder, input) => app.append(await work(folder), input),
    fork: async (folder, input) => app.fork(await work(folder), input),
    work: async (only) => app.work(only && { ...only, folder: await named(only.folder) }),
    answer: async (folder, itemId, signal) => app.answer(await named(folder), itemId, signal),
    routeSmart: async (folder, ...rest) => app.routeSmart(await named(folder), ...rest),
    renameSession: async (folder, ...rest) => app.renameSession(await named(folder), ...rest),
    archiveSession: async (folder, ...rest) => app.archiveSession(await named(folder), ...rest),
    log: async (folder, query) => app.log(await named(folder), query),
    context: async (folder, of) => app.context(await named(folder), of),
    show: async (folder, reference) => app.show(await named(folder), reference),
    why: async (folder, ...rest) => app.why(await named(folder), ...rest),
    diff: async (folder, a, b) => app.diff(await named(folder), a, b),
    async *exportTurns(folder, session) {
      yield* app.exportTurns(await named(folder), session)
    },
    agents: async (folder) => app.agents(await named(folder)),
    status: async (folder, since) => app.status(await named(folder), since),
    sessions: async (filter) => app.sessions(await filtered(filter)),
    plans: async (filter) => app.plans(await filtered(filter)),
  }
}
