import type { App } from '../api/app.ts'
import type { CommandApp } from '../api/commands.ts'
import type { Heddle } from '../api/heddle.ts'
import type { Config } from '../config/config.ts'
import { knownSecrets, redactor } from '../config/secrets.ts'
import { idSource } from '../domain/id.ts'
import type { Model } from '../domain/model.ts'
import { liveFeed } from '../domain/stream-delta.ts'
import type { Tool } from '../domain/tools/tool.ts'
import { shipPolicies } from '../engine/policies/shipped-policies.ts'
import type { Runtime } from '../engine/runtime.ts'
import { searchIndex } from '../engine/search/search-index.ts'
import { folderToWorkIn, realFolder } from '../home/folder.ts'
import { userHomeOf } from '../home/home.ts'
import { homeFiles } from '../home/home-files.ts'
import { homeId } from '../home/home-id.ts'
import { identityFilesOf } from '../home/identity.ts'
import { secretMarker } from '../home/mark-secrets.ts'
import { withRealFolders } from '../home/real-folders.ts'
import { trustedPlaces } from '../home/trusted-places.ts'
import { fileSearch, noFiles } from '../memory/file-search.ts'
import { fileIndex } from '../memory/index-files.ts'
import { memoryApp } from '../memory/memory-app.ts'
import { refoldWords } from '../memory/refold-words.ts'
import { broughtBackText, restoreReplaced } from '../memory/restore-replaced.ts'
import { rehearsalName } from '../rehearsal/rehearsal.ts'
import { writeBackup } from '../store/backup/backup.ts'
import { metaValue } from '../store/rows/meta.ts'
import { listPersonas } from '../store/rows/personas.ts'
import { sessionFolders } from '../store/rows/sessions.ts'
import { systemTimezone } from '../system.ts'
import { accessApp } from './access-app.ts'
import { agentApp } from './agent-app.ts'
import { folderRecorder, openAppAgents, recordFolders } from './agents.ts'
import { answerOnce } from './answer-once.ts'
import { approvalApp } from './approval-app.ts'
import { accountApp } from './commands/account-app.ts'
import { commandApp } from './commands/command-app.ts'
import { modelApp } from './commands/model-app.ts'
import { engineOf } from './engine.ts'
import { eventApp } from './event-app.ts'
import { EventAudience } from './event-audience.ts'
import { type Caller, onePerPrincipal } from './guard/caller.ts'
import { guardApp } from './guard/guard.ts'
import { homeApp } from './home/home-app.ts'
import { jobApp } from './job-app.ts'
import { Meter } from './meter.ts'
import { metricsApp } from './metrics-app.ts'
import { permissionErrors } from './permission-names.ts'
import { planApp } from './plan-app.ts'
import { ProcessWorker } from './process-worker.ts'
import { profileApp } from './profile-app.ts'
import { runApp } from './run-app.ts'
import { searchApp } from './search-app.ts'
import { openSemanticSearch } from './semantic-search.ts'
import { jobSenders } from './senders.ts'
import { sessionApp } from './session-app.ts'
import { identify, signIn, signOut } from './sign-in.ts'
import { backupOptions, contextOf, openHomeStore, type StoreSettings } from './store.ts'
import { turnApp } from './turn-app.ts'

export { databaseLocation, missingDatabase, restoreApp, restoreFacts } from './store.ts'

const day = 86_400_000

/** Settings of a Heddle that is opened in this process. */
export interface AppSettings extends StoreSettings {
  config: Omit<Config, 'name' | 'workspace' | 'notify'> & Partial<Pick<Config, 'notify'>>
  /** Models besides those of the configuration, by name; the first is the default if the configuration has none. */
  models?: Model[]
  /** A user watches: the rehearsal script takes its time. */
  paced?: boolean
  /** Tools for every agent. */
  tools?: Tool[]
}

/** Opens a Heddle: the one place where every room is wired. */
export async function openApp(settings: AppSettings): Promise<Heddle> {
  const { config, paths, tell } = settings
  const context = contextOf(settings)
  const meter = new Meter()
  const store = meter.measuring(await openHomeStore(settings, context), context.clock)
  const { folders, personas } = await store.read(async (rows) => ({
    folders: await sessionFolders(rows),
    personas: await listPersonas(rows),
  }))
  recordFolders(paths, folders)
  const { clock, random } = context
  const broughtBack = await restoreReplaced({ store, clock })
  if (broughtBack) tell?.(broughtBackText(broughtBack))
  await refoldWords(store)
  await shipPolicies({ store, clock })
  const configured = knownSecrets(config)
  const { markSecrets, markedParts } = secretMarker(paths.secrets, configured)
  const embedding = openSemanticSearch(config.memory, { store, clock, markSecrets })
  const newId = idSource(clock, random)
  const runtime: Runtime = {
    store,
    clock,
    newId,
    markSecrets,
    markedParts,
    ...(embedding && { semanticIndex: embedding.index }),
  }
  // Only a server is shared between homes.
  const home = store.dialect.name === 'postgres' ? await homeId(paths, newId) : ''
  const files = config.memory.files ? fileIndex(runtime, homeFiles(paths.home, home)) : undefined
  const protect = trustedPlaces(settings)
  const agents = openAppAgents(settings, clock)
  const live = liveFeed()
  const engine = engineOf(
    runtime,
    { crash: context.crash, live: live.publish, observeCall: (model, took) => meter.observeCall(model, took) },
    {
      ...settings,
      agents,
      protect,
      home,
      identityFiles: identityFilesOf(paths.home, clock),
      fileSearch: files && fileSearch(runtime, files),
      guardRecords: paths.guards,
      sandboxProof: paths.sandboxProof,
    },
  )
  const known = {
    tools: [...engine.tools.keys()],
    models: [rehearsalName, ...(settings.models ?? []).map(({ name }) => name), ...Object.keys(config.models)],
    credentials: config.tools.exec.credentials,
  }
  for (const error of permissionErrors({ tools: config.tools, personas }, known.tools)) tell?.(error)
  const recordFolder = folderRecorder(paths, clock)
  const own = { userHome: userHomeOf(settings.env), home: paths.home }
  const senders = jobSenders(config, { ...own, env: settings.env, clock })
  const timezone = () => config.cron.timezone ?? systemTimezone()
  const index = searchIndex({ store, clock, protect })
  const worker = new ProcessWorker(engine, {
    ...{ ...settings, runDirectory: paths.run, agents, files, search: index, embedding, senders },
  })
  const defaults = defaultsOf(settings)
  const audience = new EventAudience(store)
  const shared = {
    ...memoryApp({ ...runtime, files: files && fileSearch(runtime, files) }, config.memory.most),
    ...(files ? fileSearch(runtime, files) : noFiles),
    ...modelApp(settings),
    ...homeApp(settings, clock),
    ...accessApp(runtime, { random, knownTools: known.tools, realFolder: (folder) => folderToWorkIn(folder, own) }),
    ...metricsApp(runtime, meter, config.budgets.perDay.usd),
    backup: (file: string) => writeBackup(store, file, backupOptions(context)),
  }
  const appFor = (caller: Caller): Omit<App, keyof CommandApp> => ({
    ...sessionApp(runtime, known, caller),
    ...turnApp(runtime, { agents, protect, budget: config.budgets.perRequest, recordFolder, caller }),
    ...runApp(engine, { agents, worker, defaults, known, recordFolder, caller }),
    ...agentApp(engine, agents, caller),
    ...accountApp(runtime, caller),
    ...planApp(engine, caller),
    ...jobApp(engine, { agents, senders, timezone, recordFolder, caller }),
    ...profileApp(engine, { known, caller }),
    ...approvalApp(runtime, worker, caller),
    ...searchApp({ store, protect, index, hide: redactor(configured) }, caller),
    ...eventApp(store, context, config.retention.eventDays * day, caller),
    ...shared,
  })
  return {
    as: onePerPrincipal((caller) => {
      const app = { ...appFor(caller), ...commandApp(caller, clock, () => principalApp) }
      const principalApp = guardApp(withRealFolders(app, own), caller, runtime)
      return principalApp
    }),
    identify: (token) => identify(runtime, token),
    signIn: (code) => signIn(runtime, code, random),
    signOut: (token) => signOut(runtime, token),
    once: answerOnce(runtime),
    work: async (only) => worker.start(only && { ...only, folder: await realFolder(only.folder) }),
    isReady: async () => {
      await store.read((rows) => metaValue(rows, 'database_id'))
      return worker.holdsLease
    },
    listen: live.listen,
    shownTo: (principal, events) => audience.shownTo(principal, events),
    mayStream: (principal, runId) => audience.mayStream(principal, runId),
    async close() {
      runtime.semanticIndex?.close()
      await store.close()
    },
  }
}

function defaultsOf({ config, models }: AppSettings): { model: string | null; dayLimitUsd: number } {
  const name = config.agent.model ?? models?.[0]?.name ?? rehearsalName
  const model = (Object.hasOwn(config.models, name) && config.models[name]?.model) || name
  return { model, dayLimitUsd: config.budgets.perDay.usd }
}
