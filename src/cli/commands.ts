import type { Command } from 'commander'
import { UsageError } from '../domain/errors.ts'
import type { Register } from './command.ts'

interface CommandModule {
  /** The commands it registers. */
  names: readonly string[]
  load(): Promise<Register>
  /** It works on files of this machine, and not on what a daemon elsewhere has. */
  isLocal?: true
}

/** All commands, in the order of the help. Each is loaded only when it is used. */
const commands: readonly CommandModule[] = [
  { names: ['chat'], load: async () => (await import('./commands/chat.ts')).registerChat },
  { names: ['ask'], load: async () => (await import('./commands/ask.ts')).registerAsk },
  { names: ['status'], load: async () => (await import('./commands/status.ts')).registerStatus },
  { names: ['help'], load: async () => (await import('./commands/help.ts')).registerHelp },
  { names: ['watch'], load: async () => (await import('./commands/watch.ts')).registerWatch },
  { names: ['show'], load: async () => (await import('./commands/show.ts')).registerShow },
  { names: ['why'], load: async () => (await import('./commands/why.ts')).registerWhy },
  { names: ['ps', 'usage', 'cancel', 'retry'], load: async () => (await import('./commands/runs.ts')).registerRuns },
  {
    names: ['approvals', 'approve', 'deny', 'grants'],
    load: async () => (await import('./commands/approvals.ts')).registerApprovals,
  },
  { names: ['git'], isLocal: true, load: async () => (await import('./commands/git.ts')).registerGit },
  { names: ['undo'], load: async () => (await import('./commands/undo.ts')).registerUndo },
  { names: ['sessions', 'fork'], load: async () => (await import('./commands/sessions.ts')).registerSessions },
  { names: ['log', 'diff'], load: async () => (await import('./commands/log.ts')).registerLog },
  { names: ['search'], load: async () => (await import('./commands/search.ts')).registerSearch },
  { names: ['open'], isLocal: true, load: async () => (await import('./commands/daemon/open.ts')).registerOpen },
  { names: ['up'], isLocal: true, load: async () => (await import('./commands/daemon/up.ts')).registerUp },
  { names: ['down'], isLocal: true, load: async () => (await import('./commands/daemon/down.ts')).registerDown },
  {
    names: ['config', 'doctor', 'init'],
    isLocal: true,
    load: async () => (await import('./commands/set-up.ts')).registerSetUp,
  },
  {
    names: ['agents', 'skills'],
    isLocal: true,
    load: async () => (await import('./commands/agents.ts')).registerAgents,
  },
  { names: ['plans', 'projects'], load: async () => (await import('./commands/plans.ts')).registerPlans },
  { names: ['cron'], load: async () => (await import('./commands/jobs/cron.ts')).registerCron },
  { names: ['models'], isLocal: true, load: async () => (await import('./commands/models.ts')).registerModels },
  { names: ['memory'], load: async () => (await import('./commands/memory.ts')).registerMemory },
  { names: ['secret'], isLocal: true, load: async () => (await import('./commands/secret.ts')).registerSecret },
  { names: ['tasks'], load: async () => (await import('./commands/tasks.ts')).registerTasks },
  { names: ['results'], load: async () => (await import('./commands/results.ts')).registerResults },
  { names: ['subagent'], load: async () => (await import('./commands/subagent.ts')).registerSubagent },
  { names: ['append'], load: async () => (await import('./commands/append.ts')).registerAppend },
  { names: ['personas'], load: async () => (await import('./commands/personas.ts')).registerPersonas },
  { names: ['profiles'], load: async () => (await import('./commands/profiles.ts')).registerProfiles },
  { names: ['users'], load: async () => (await import('./commands/access/users.ts')).registerUsers },
  { names: ['tokens'], load: async () => (await import('./commands/access/tokens.ts')).registerTokens },
  { names: ['audit'], load: async () => (await import('./commands/access/audit.ts')).registerAudit },
  {
    names: ['backup', 'restore'],
    isLocal: true,
    load: async () => (await import('./commands/backup.ts')).registerBackup,
  },
  { names: ['export', 'import'], load: async () => (await import('./commands/transfer.ts')).registerTransfer },
  { names: ['event', 'gc'], load: async () => (await import('./commands/events.ts')).registerEvents },
  { names: ['dev'], isLocal: true, load: async () => (await import('./commands/dev.ts')).registerDev },
]

const optionsWithValue = ['--home', '--config', '--token', '--host']

/** Refuses a command that cannot be carried out on another machine. */
export function assertRemote(command: Command): void {
  const top = command.parent?.parent ? command.parent.name() : command.name()
  if (commands.some(({ names, isLocal }) => isLocal && names.includes(top)))
    throw new UsageError(
      `heddle ${top} works on files of this machine`,
      'leave out --host and HEDDLE_HOST',
      'not_remote',
    )
}

/** Commands to register for this command line: the one it names, or all for help and unknown names. */
export async function commandsFor(argv: readonly string[]): Promise<Register[]> {
  const name = argv.find((word, at) => !word.startsWith('-') && !optionsWithValue.includes(argv[at - 1] ?? ''))
  const known = commands.filter(({ names }) => name !== undefined && name !== 'help' && names.includes(name))
  return Promise.all((known.length > 0 ? known : commands).map(({ load }) => load()))
}
