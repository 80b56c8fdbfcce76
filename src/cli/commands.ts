import type { Register } from './cli.ts'

interface Loaded {
  /** The commands it registers. */
  names: readonly string[]
  load(): Promise<Register>
}

/** Everything that can be asked on the command line, in the order of the help; what is not asked for is not loaded. */
const commands: readonly Loaded[] = [
  { names: ['chat'], load: async () => (await import('./chat.ts')).registerChat },
  { names: ['ask'], load: async () => (await import('./ask.ts')).registerAsk },
  { names: ['status'], load: async () => (await import('./status.ts')).registerStatus },
  { names: ['help'], load: async () => (await import('./help.ts')).registerHelp },
  { names: ['watch'], load: async () => (await import('./watch.ts')).registerWatch },
  { names: ['show'], load: async () => (await import('./show.ts')).registerShow },
  { names: ['why'], load: async () => (await import('./why.ts')).registerWhy },
  { names: ['ps', 'usage', 'cancel', 'retry'], load: async () => (await import('./runs.ts')).registerRuns },
  {
    names: ['approvals', 'approve', 'deny', 'grants'],
    load: async () => (await import('./approvals.ts')).registerApprovals,
  },
  { names: ['git'], load: async () => (await import('./git.ts')).registerGit },
  { names: ['undo'], load: async () => (await import('./undo.ts')).registerUndo },
  { names: ['sessions', 'fork'], load: async () => (await import('./sessions.ts')).registerSessions },
  { names: ['log', 'diff'], load: async () => (await import('./log.ts')).registerLog },
  { names: ['up'], load: async () => (await import('./up.ts')).registerUp },
  { names: ['config', 'doctor', 'init'], load: async () => (await import('./set-up.ts')).registerSetUp },
  { names: ['agents', 'skills'], load: async () => (await import('./agents.ts')).registerAgents },
  { names: ['plans', 'projects'], load: async () => (await import('./plans.ts')).registerPlans },
  { names: ['models'], load: async () => (await import('./models.ts')).registerModels },
  { names: ['memory'], load: async () => (await import('./memory.ts')).registerMemory },
  { names: ['secret'], load: async () => (await import('./secret.ts')).registerSecret },
  { names: ['tasks'], load: async () => (await import('./tasks.ts')).registerTasks },
  { names: ['results'], load: async () => (await import('./results.ts')).registerResults },
  { names: ['append'], load: async () => (await import('./append.ts')).registerAppend },
  { names: ['personas'], load: async () => (await import('./personas.ts')).registerPersonas },
  { names: ['backup', 'restore'], load: async () => (await import('./backup.ts')).registerBackup },
  { names: ['export', 'import'], load: async () => (await import('./transfer.ts')).registerTransfer },
  { names: ['event', 'gc'], load: async () => (await import('./events.ts')).registerEvents },
  { names: ['dev'], load: async () => (await import('./dev.ts')).registerDev },
]

const optionsWithValue = ['--home', '--config']

/** What has to be registered for this command line: one command's own, or all for help and for what is not known. */
export async function commandsFor(argv: readonly string[]): Promise<Register[]> {
  const name = argv.find((word, at) => !word.startsWith('-') && !optionsWithValue.includes(argv[at - 1] ?? ''))
  const known = commands.filter(({ names }) => name !== undefined && name !== 'help' && names.includes(name))
  return Promise.all((known.length > 0 ? known : commands).map(({ load }) => load()))
}
