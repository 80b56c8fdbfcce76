import type { App } from '../api/app.ts'
import { folderToWorkIn, type OwnFolders, realFolder } from './folder.ts'

/**
 * Wraps an App so that each folder has one name, however a caller spells it. Operations that start work are refused in
 * folders where no agent may work: here, so that it holds for every caller.
 */
export function withRealFolders(app: App, own: OwnFolders): App {
  const work = (folder: string) => folderToWorkIn(folder, own)
  const real = realFolder
  const filtered = async <T extends { folder?: string }>(filter: T | undefined) =>
    filter?.folder === undefined ? filter : { ...filter, folder: await real(filter.folder) }
  return {
    ...app,
    submit: async (folder, question) => app.submit(await work(folder), question),
    addJob: async (folder, settings) => app.addJob(await work(folder), settings),
    append: async (folder, input) => app.append(await work(folder), input),
    fork: async (folder, input) => app.fork(await work(folder), input),
    answer: async (folder, itemId, signal) => app.answer(await real(folder), itemId, signal),
    routeSmart: async (folder, ...rest) => app.routeSmart(await real(folder), ...rest),
    renameSession: async (folder, ...rest) => app.renameSession(await real(folder), ...rest),
    archiveSession: async (folder, ...rest) => app.archiveSession(await real(folder), ...rest),
    log: async (folder, query) => app.log(await real(folder), query),
    turnWindow: async (folder, query) => app.turnWindow(await real(folder), query),
    turnTree: async (query) => app.turnTree(await filtered(query)),
    context: async (folder, of) => app.context(await real(folder), of),
    show: async (folder, reference) => app.show(await real(folder), reference),
    why: async (folder, ...rest) => app.why(await real(folder), ...rest),
    search: async (folder, query) => app.search(await real(folder), query),
    diff: async (folder, a, b) => app.diff(await real(folder), a, b),
    async *exportTurns(folder, session) {
      yield* app.exportTurns(await real(folder), session)
    },
    pins: async (folder, session) => app.pins(await real(folder), session),
    setPin: async (folder, pin) => app.setPin(await work(folder), pin),
    removePin: async (folder, pin) => app.removePin(await real(folder), pin),
    agents: async (folder) => app.agents(await real(folder)),
    agent: async (folder, name) => app.agent(await real(folder), name),
    skills: async (folder) => app.skills(await real(folder)),
    doctor: async (folder) => app.doctor(await real(folder)),
    status: async (folder, since) => app.status(await real(folder), since),
    runs: async (filter) => app.runs(await filtered(filter)),
    sessions: async (filter) => app.sessions(await filtered(filter)),
    countSessions: async (filter) => app.countSessions(await filtered(filter)),
    plans: async (filter) => app.plans(await filtered(filter)),
  }
}
