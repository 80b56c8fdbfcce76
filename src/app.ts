import { noteFolders, openAgents } from './app-agents.ts'
import { workBeside } from './app-beside.ts'
import { engineOf } from './app-engine.ts'
import { type AppMeaning, openMeaning } from './app-meaning.ts'
import { backupOptions, contextOf, openHomeStore, type StoreSettings } from './app-store.ts'
import type { Config } from './config/config.ts'
import { type Agent, builtInAgents, isLive } from './domain/agent.ts'
import type { App } from './domain/app.ts'
import { idSource } from './domain/id.ts'
import { clientKey } from './domain/inbox.ts'
import { liveFeed } from './domain/live.ts'
import type { FileSearch, MemoryApp } from './domain/memory-views.ts'
import type { Model } from './domain/model.ts'
import type { ProtectedPlaces } from './domain/path-handle.ts'
import { byPerson } from './domain/plan.ts'
import { parseReference } from './domain/reference.ts'
import { labelOfPeople } from './domain/session.ts'
import type { Tool } from './domain/tool.ts'
import { answer } from './engine/answer.ts'
import { append } from './engine/append.ts'
import { decide } from './engine/approve.ts'
import { cancel } from './engine/cancel.ts'
import {
  type Askable,
  acceptPart,
  addressed,
  mustAnswer,
  mustNameWhatItIsFor,
  whyNoDefault,
} from './engine/check-input.ts'
import { fork } from './engine/fork.ts'
import { contextPath, diffPaths, listPath, listTips, listTree, turnLines } from './engine/history.ts'
import { planNamed, taskNamed, viewPlans, viewResults, viewTasks } from './engine/plan-views.ts'
import { approvalId, listApprovals, revoke, viewGrants } from './engine/questions.ts'
import { splitBySession } from './engine/recover.ts'
import { retry } from './engine/retry.ts'
import { routeToThread, sessionNamed } from './engine/route.ts'
import { routeSmart } from './engine/route-smart.ts'
import { listRuns, listUsage, runNamed } from './engine/runs.ts'
import { archive, listSessions, rename, setPersona } from './engine/sessions.ts'
import { show } from './engine/show.ts'
import { statusOf } from './engine/status.ts'
import { cancelPlan, cancelTask, changeTask } from './engine/steer-plan.ts'
import { submit } from './engine/submit.ts'
import { exportTurns, importTurns } from './engine/transfer.ts'
import { undo } from './engine/undo.ts'
import { why } from './engine/why.ts'
import { startWorker, type Worker } from './engine/worker.ts'
import type { AgentIndex, Engine, World } from './engine/world.ts'
import { userHomeOf } from './home/home.ts'
import { homeFiles } from './home/home-files.ts'
import { identityFilesOf } from './home/identity.ts'
import { withRealFolders } from './home/real-folders.ts'
import { trustedPlaces } from './home/trusted-places.ts'
import { bringBackReplaced, broughtBackText } from './memory/bring-back.ts'
import { fileSearch, noFiles } from './memory/file-search.ts'
import { type FileIndex, fileIndex } from './memory/index-files.ts'
import { memoryApp } from './memory/memory-app.ts'
import { rehearsalName } from './models/rehearsal/rehearsal.ts'
import { writeBackup } from './store/backup.ts'
import { followEvents, newestCursor, pruneEvents, readEvents, recordEvent } from './store/events.ts'
import { itemsOfRun } from './store/inbox.ts'
import { fileLocks, holdAlone, noLocks } from './store/owner-locks.ts'
import { listPersonas } from './store/personas.ts'
import { findRun } from './store/runs.ts'
import { findSessions, sessionFolders } from './store/sessions.ts'
import type { Store, StoreContext } from './store/store.ts'
import { findTask } from './store/tasks.ts'

export { placeOf, restoreApp, restoreFacts } from './app-store.ts'

const day = 86_400_000

/** What decides which heddle is opened. */
export interface AppSettings extends StoreSettings {
  config: Omit<Config, 'name' | 'workspace' | 'notify'> & Partial<Pick<Config, 'notify'>>
  /** Models besides those of the configuration, by name; the first is the default where the configuration has none. */
  models?: Model[]
  /** Someone watches: the script that stands in for a model takes its time. */
  paced?: boolean
  /** Tools for every agent. */
  tools?: Tool[]
}

/** Opens a heddle: the one place where every room is put together. */
export async function openApp(settings: AppSettings): Promise<App> {
  const context = contextOf(settings)
  const store = await openHomeStore(settings, context)
  noteFolders(settings.paths, await store.read(sessionFolders))
  const { clock, random } = context
  const back = await bringBackReplaced({ store, clock })
  if (back) settings.tell?.(broughtBackText(back))
  const embedding = openMeaning(settings.config.memory, { store, clock })
  const world: World = {
    store,
    clock,
    newId: idSource(clock, random),
    ...(embedding && { meaning: embedding.meaning }),
  }
  const files = settings.config.memory.files ? fileIndex(world, homeFiles(settings.paths.home)) : undefined
  const protect = trustedPlaces(settings)
  const here = { ...settings, protect, agents: agentsOf(settings, context), files, embedding }
  const app: App = {
    ...assembleTree(world, store, context, here),
    ...assembleWork(world, context, here),
    ...memoryApp(world, settings.config.memory.most),
    ...(files ? fileSearch(world, files) : noFiles),
  }
  return withRealFolders(app, { userHome: userHomeOf(settings.env), home: settings.paths.home })
}

/** Settings, everyone who can be given work, and what keeps the owner's files findable. */
interface Assembly extends AppSettings {
  agents: AppAgents
  protect: ProtectedPlaces
  files: FileIndex | undefined
  embedding: AppMeaning | undefined
}

interface AppAgents extends AgentIndex {
  askable(folder?: string): Askable
}

function agentsOf({ paths, config, tools = [], models = [] }: AppSettings, { clock }: StoreContext): AppAgents {
  const names = (named: readonly { name: string }[]) => named.map(({ name }) => name)
  const agents = openAgents({ paths, config, clock, tools: names(tools), models: names(models) })
  const cannotWork = ({ status }: Agent) => status === 'broken' || status === 'untrusted'
  return {
    find: agents.find,
    list: (folder) => agents.list(folder).filter(isLive),
    askable: (folder) => ({
      names: () => names([...builtInAgents, ...agents.list(folder).filter(isLive)]),
      unusable: (name) => agents.list(folder).find((agent) => agent.name === name && cannotWork(agent)),
    }),
  }
}

function assembleTree(
  world: World,
  store: Store,
  context: StoreContext,
  { config, agents, paths, protect }: Assembly,
): TreeApp {
  const thread = (folder: string, text: string) => store.read((rows) => routeToThread(rows, text, folder))
  return {
    sessions: (filter) => store.read((rows) => listSessions(rows, filter)),
    routeSmart: (folder, message, { all } = {}) =>
      store.read((rows) => routeSmart(rows, message, { now: context.clock.now(), ...(!all && { folder }) })),
    renameSession: (folder, session, label) => rename(world, folder, session, label),
    archiveSession: (folder, session, archived) => archive(world, folder, session, archived),
    async append(folder, { session, draft, parent, persona }) {
      noteFolders(paths, [folder])
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
      noteFolders(paths, [folder])
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
    show: (folder, reference) =>
      store.read((rows) =>
        show(rows, reference, folder, {
          now: context.clock.now(),
          agents,
          limits: config.budgets.perRequest,
        }),
      ),
    why: (folder, reference, options) =>
      why({ store, protect, budget: config.budgets.perRequest }, folder, reference, options),
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
    cursor: () => store.read(newestCursor),
    async prune() {
      const before = context.clock.now() - config.retention.eventDays * day
      return { events: await store.write('prune', (tx) => pruneEvents(tx, before)) }
    },
    backup: (file) => writeBackup(store, file, backupOptions(context)),
    async close() {
      world.meaning?.close()
      await store.close()
    },
  }
}

/** What needs no model. */
type TreeApp = Omit<App, keyof WorkApp | keyof MemoryApp | keyof FileSearch>
type WorkApp = Pick<
  App,
  | 'approvals'
  | 'decide'
  | 'grants'
  | 'revokeGrant'
  | 'submit'
  | 'answer'
  | 'listen'
  | 'work'
  | 'runs'
  | 'cancel'
  | 'retry'
  | 'agents'
  | 'checkAgent'
  | 'plans'
  | 'tasks'
  | 'results'
  | 'changeTask'
  | 'undo'
  | 'usage'
  | 'status'
>

function assembleWork(world: World, context: StoreContext, settings: Assembly): WorkApp {
  const { store } = world
  /** The worker of this process that was started last, if any. */
  let atWork: Worker | undefined
  const live = liveFeed()
  const engine = engineOf(
    world,
    { crash: context.crash, live: live.tell },
    {
      ...settings,
      identityFiles: identityFilesOf(settings.paths.home, context.clock),
      fileSearch: settings.files && fileSearch(world, settings.files),
      guardRecords: settings.paths.guards,
    },
  )
  return {
    async submit(folder, { session, content: said, from, timeoutSeconds, dedupeKey, ...asked }) {
      const askable = settings.agents.askable(folder)
      const { content, ...more } = { ...asked, ...addressed(said, asked.agent, askable) }
      // An unknown model is an error before anything is taken in.
      const model = engine.model(more.model ?? null)
      if (more.agent !== undefined) mustAnswer(more.agent, askable)
      else mustHaveDefault(engine, askable)
      for (const part of more.parts ?? []) acceptPart(part, model)
      noteFolders(settings.paths, [folder])
      const parent = from === undefined ? undefined : await store.read((rows) => routeToThread(rows, from, folder))
      const handedIn = {
        folder,
        label: labelOfPeople(session),
        content,
        ...more,
        ...(parent && { parentTurnId: parent.turnId }),
        ...(timeoutSeconds !== undefined && { timeoutMs: Math.ceil(timeoutSeconds * 1000) }),
        ...(dedupeKey !== undefined && { dedupeKey: clientKey(dedupeKey) }),
      }
      const accepted = await (atWork ? atWork.submit(handedIn) : submit(world, handedIn))
      const { itemId, runId, queuedBehind } = accepted
      return { itemId, runId, session: accepted.session.label, ...(queuedBehind !== undefined && { queuedBehind }) }
    },
    listen: live.listen,
    answer: (folder, itemId, signal) => answer(world, folder, itemId, signal),
    async work(only) {
      const session = only && (await store.read((rows) => sessionNamed(rows, `session:${only.session}`, only.folder)))
      const leave = session ? () => undefined : holdAlone(settings.paths.run, 'up', process.pid)
      await engine.prepare()
      const noDefault = only ? undefined : whyNoDefault(engine.defaultAgent, settings.agents.askable())
      if (noDefault) settings.tell?.(`${noDefault.message}    ${noDefault.remedy}`)
      if (settings.config.tools.exec.sandbox === 'off') await auditUnconfined(world)
      const onTrouble = (error: unknown) =>
        settings.tell?.(`trouble: ${error instanceof Error ? error.message : error}`)
      const worker = await startWorker(engine, {
        locks: settings.config.database === 'sqlite' ? fileLocks(settings.paths.run) : noLocks,
        pid: process.pid,
        onTrouble,
        ...(session && { sessionId: session.id }),
      })
      atWork = worker
      const { files, embedding, config } = settings
      const beside = workBeside(engine, worker, { memory: config.memory, files, embedding, only: session, onTrouble })
      const { resumed } = worker.recovered
      return {
        ...worker.recovered,
        queued: [],
        ...(session && (await store.read((rows) => splitBySession(rows, resumed, session.id)))),
        narrated: beside.narrated,
        giveUpNarrating: beside.giveUpNarrating,
        async stop() {
          if (atWork === worker) atWork = undefined
          const quiet = beside.stop()
          await worker.stop().finally(leave)
          await quiet
        },
      }
    },
    runs: (filter) => store.read((rows) => listRuns(rows, world.clock.now(), filter)),
    async cancel(name, reason) {
      const { kind } = parseReference(name)
      if (kind === 'plan') {
        const plan = await store.read((rows) => planNamed(rows, name))
        return { id: String(plan.id), state: await cancelPlan(engine, plan, reason) }
      }
      if (kind === 'task') {
        const task = await store.read((rows) => taskNamed(rows, name))
        return { id: String(task.id), state: await cancelTask(engine, task, reason) }
      }
      const { id, taskId } = await store.read((rows) => runNamed(rows, name))
      return { id, state: await cancel(engine, id, taskId === null ? reason : byPerson(reason)) }
    },
    async retry(name) {
      const task = await store.read(async (rows) => {
        if (parseReference(name).kind === 'task') return taskNamed(rows, name)
        const { taskId } = await runNamed(rows, name)
        return taskId === null ? undefined : findTask(rows, taskId)
      })
      if (task) return { runId: (await changeTask(engine, task, { action: 'retry' })).runId }
      return retry(world, (await store.read((rows) => runNamed(rows, name))).id)
    },
    agents: async (folder) => [...builtInAgents, ...engine.agents.list(folder)],
    checkAgent: async (folder, name) => mustAnswer(name, settings.agents.askable(folder)),
    plans: (filter) => store.read((rows) => viewPlans(rows, filter)),
    tasks: (filter) => store.read((rows) => viewTasks(rows, { agents: engine.agents, now: world.clock.now() }, filter)),
    results: (filter) => store.read((rows) => viewResults(rows, filter)),
    changeTask: async (name, change) => changeTask(engine, await store.read((rows) => taskNamed(rows, name)), change),
    approvals: () => store.read(listApprovals),
    async decide(text, said) {
      mustNameWhatItIsFor(text, said)
      const { approval, run } = await decide(world, approvalId(text), said)
      return store.read(async (rows) => {
        const root = await findRun(rows, run.rootRunId)
        const [session] = await findSessions(rows, { id: root?.sessionId ?? '' })
        const [item] = await itemsOfRun(rows, run.rootRunId)
        const { label = '', folder = '' } = session ?? {}
        return { id: approval.id, runId: run.id, session: label, folder, itemId: item?.id ?? '' }
      })
    },
    grants: () => store.read(viewGrants),
    revokeGrant: (id) => revoke(world, id),
    undo: async (name, options) => undo(engine, (await store.read((rows) => runNamed(rows, name))).id, options),
    usage: (by, options) => store.read((rows) => listUsage(rows, by, world.clock.now(), options)),
    status: (folder, since) =>
      store.read((rows) => statusOf(rows, { folder, since, now: world.clock.now(), ...usualOf(settings) })),
  }
}

function mustHaveDefault({ defaultAgent }: Engine, askable: Askable): void {
  const refusal = whyNoDefault(defaultAgent, askable)
  if (refusal) throw refusal
}

/** Whoever looks back shall find when commands could do whatever the owner can. */
function auditUnconfined({ store, clock }: World): Promise<void> {
  const event = { kind: 'sandbox.off' as const, subject: `process:${process.pid}`, payload: {} }
  return store.write('owner', (tx) => recordEvent(tx, { at: clock.now(), ...event }))
}

async function* linesOf(store: Store, folder: string, session: string | undefined): AsyncIterable<string> {
  const end = session === undefined ? undefined : await store.read((rows) => routeToThread(rows, session, folder))
  for await (const turn of exportTurns(store, end)) yield JSON.stringify(turn)
}

/** What is used when nothing else is asked for, and what it may cost. */
function usualOf({ config, models }: AppSettings): { model: string | null; dayLimitUsd: number } {
  const name = config.agent.model ?? models?.[0]?.name ?? rehearsalName
  const model = (Object.hasOwn(config.models, name) && config.models[name]?.model) || name
  return { model, dayLimitUsd: config.budgets.perDay.usd }
}
