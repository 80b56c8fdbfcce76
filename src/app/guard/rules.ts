import type { App } from '../../api/app.ts'
import { actionOfLine, nameOfLine } from '../../commands/dispatch.ts'
import type { Action } from '../../domain/access/actions.ts'
import { parseReference, type ReferenceKind } from '../../domain/reference.ts'
import { jobRules } from './job-rules.ts'
import { profileRules } from './profile-rules.ts'
import { always, type Checks, inFolder, type RulesOf } from './rule.ts'

/** The rule of every method of App: a method without one does not compile. */
export const rules: RulesOf<App> = {
  submit: {
    action: (_, { kind = 'message' }) => askActions[kind],
    async args(checks, folder, { session, from, ...question }) {
      const at = await checks.folder(folder)
      const label = await checks.session(session, at)
      const start = from === undefined ? {} : { from: await checks.named(from, at) }
      return [at, { ...question, session: label, ...start }]
    },
    about: (_, { session }) => `session:${session}`,
    text: (_, { content }) => content,
  },
  answer: {
    action: 'run.answer',
    async args(checks, folder, itemId, signal) {
      await checks.input(itemId)
      return [await checks.folder(folder), itemId, signal]
    },
  },
  runs: {
    action: 'run.list',
    async args(checks, filter) {
      const { requestsOf, ...rest } = (await inFolder(checks, filter)) ?? {}
      return [{ ...rest, ...(requestsOf !== undefined && { requestsOf: checks.label(requestsOf) }) }]
    },
  },
  cancel: {
    action: 'run.cancel',
    args: async (checks, reference, reason) => [await checks.named(reference, '/', 'run'), reason],
    about: (reference) => withKind('run', reference),
    text: (_, reason) => reason,
  },
  retry: {
    action: 'run.retry',
    args: async (checks, reference) => [await checks.named(reference, '/', 'run')],
    about: (reference) => withKind('run', reference),
  },
  undo: {
    action: 'run.undo',
    args: async (checks, reference, options) => [await checks.named(reference, '/', 'run'), options],
    about: (reference) => withKind('run', reference),
  },
  usage: { action: 'run.usage' },
  usageByDay: { action: 'run.usage' },
  runSteps: { action: 'turn.read', args: async (checks, run) => [await checks.named(run, '/', 'run')] },
  status: {
    action: 'run.status',
    args: async (checks, folder, since) => [await checks.folder(folder), since],
  },

  sessions: {
    action: 'session.list',
    args: async (checks, filter) => [await ownLabel(checks, filter)],
  },
  countSessions: {
    action: 'session.list',
    args: async (checks, filter) => [await ownLabel(checks, filter)],
  },
  routeSmart: {
    action: 'session.route',
    args: async (checks, folder, message, options) => [await checks.folder(folder), message, options],
  },
  renameSession: {
    action: 'session.rename',
    async args(checks, folder, session, label) {
      const at = await checks.folder(folder)
      return [at, await checks.named(asSession(session), at), checks.label(label)]
    },
    about: (_, session) => withKind('session', session),
    text: (_, __, label) => label,
  },
  archiveSession: {
    action: 'session.archive',
    async args(checks, folder, session, archived) {
      const at = await checks.folder(folder)
      return [at, await checks.named(asSession(session), at), archived]
    },
    about: (_, session) => withKind('session', session),
  },
  setSystemPrompt: {
    action: 'session.configure',
    async args(checks, folder, session, text) {
      const at = await checks.folder(folder)
      return [at, await checks.session(session, at), text]
    },
    about: (_, session) => withKind('session', session),
    text: (_, __, text) => text ?? undefined,
  },
  personas: { action: 'persona.list' },
  setPersona: { action: 'persona.set', about: ({ id }) => `persona:${id}` },

  append: {
    action: 'turn.append',
    async args(checks, folder, { session, parent, ...input }) {
      const at = await checks.folder(folder)
      const label = await checks.session(session, at)
      const start = parent === undefined ? {} : { parent: await checks.named(parent, at) }
      return [at, { ...input, session: label, ...start }]
    },
    about: (_, { session }) => `session:${session}`,
  },
  fork: {
    action: 'turn.fork',
    async args(checks, folder, { turn, label, ...input }) {
      if (input.systemPrompt !== undefined) checks.may('session.configure')
      const at = await checks.folder(folder)
      const own = label === undefined ? {} : { label: checks.label(label) }
      return [at, { ...input, turn: await checks.named(turn, at), ...own }]
    },
    about: (_, { turn }) => turn,
  },
  log: {
    action: 'turn.read',
    async args(checks, folder, query) {
      const at = await checks.folder(folder)
      return [at, query.all ? query : { ...query, of: await checks.named(query.of ?? 'main', at) }]
    },
  },
  turnWindow: {
    action: 'turn.read',
    async args(checks, folder, { of, session, ...page }) {
      const at = await checks.folder(folder)
      if (session !== undefined) return [at, { ...page, session: await checks.session(session, at) }]
      return [at, { ...page, of: await checks.named(of ?? 'main', at) }]
    },
  },
  turnTree: {
    action: 'turn.read',
    async args(checks, query) {
      const at = await inFolder(checks, query)
      if (at?.of === undefined || at.folder === undefined) return [at]
      return [{ ...at, of: await checks.named(at.of, at.folder) }]
    },
  },
  tips: { action: 'turn.read' },
  context: {
    action: 'turn.read',
    async args(checks, folder, of) {
      const at = await checks.folder(folder)
      return [at, await checks.named(of, at)]
    },
  },
  show: {
    action: (_, reference) => readActions[parseReference(reference).kind ?? 'turn'] ?? 'turn.read',
    async args(checks, folder, reference) {
      const at = await checks.folder(folder)
      return [at, await checks.named(reference, at)]
    },
  },
  why: {
    action: (_, reference) => (isPrivate(reference) ? 'memory.read' : 'turn.explain'),
    async args(checks, folder, reference, options) {
      // Files, and what followed from a thing, lead into the sessions of others.
      if (checks.reach !== 'all' && (options?.forward || parseReference(reference).kind === 'file')) checks.refuse()
      const at = await checks.folder(folder)
      return [at, await checks.named(reference, at), options]
    },
  },
  diff: {
    action: 'turn.read',
    async args(checks, folder, a, b) {
      const at = await checks.folder(folder)
      return [at, await checks.named(a, at), await checks.named(b, at)]
    },
  },
  exportTurns: {
    action: 'turn.export',
    async args(checks, folder, session) {
      if (session === undefined && checks.reach !== 'all') checks.refuse()
      const at = await checks.folder(folder)
      return [at, session === undefined ? session : await checks.named(session, at)]
    },
  },
  importTurns: { action: 'turn.import' },
  search: {
    action: 'turn.read',
    async args(checks, folder, { session, ...query }) {
      const at = await checks.folder(folder)
      return [at, session === undefined ? query : { ...query, session: await checks.named(asSession(session), at) }]
    },
  },

  plans: { action: 'plan.list', args: async (checks, filter) => [await inFolder(checks, filter)] },
  tasks: {
    action: 'plan.list',
    async args(checks, filter) {
      if (filter?.plan === undefined) return [filter]
      return [{ ...filter, plan: await checks.named(filter.plan, '/', 'plan') }]
    },
  },
  results: { action: 'result.list' },
  subagents: { action: 'run.list' },
  subagent: {
    action: 'run.list',
    args: async (checks, reference) => [await checks.named(reference, '/', 'run')],
  },
  changeTask: {
    action: 'plan.change',
    args: async (checks, task, change) => [await checks.named(task, '/', 'task'), change],
    about: (task) => withKind('task', task),
  },

  ...jobRules,

  approvals: { action: 'approval.list' },
  decide: {
    action: 'approval.decide',
    args: async (checks, approval, decision) => [await checks.named(approval, '/', 'approval'), decision],
    about: (approval) => withKind('approval', approval),
    text: (_, { reason }) => reason,
    // Only these make a grant.
    audited: (_, { answer }) => answer === 'session' || answer === 'agent',
  },
  grants: { action: 'grant.list' },
  revokeGrant: { action: 'grant.revoke', about: (id) => `grant:${id}`, audited: always },

  events: { action: 'event.read' },
  follow: { action: 'event.read' },
  cursor: { action: 'event.read' },
  prune: { action: 'event.prune' },

  commands: { action: 'command.list' },
  // The calls that a command makes are checked as every other, too.
  command: {
    action: (_, { line }) => actionOfLine(line),
    about: (_, { line }) => `command:${nameOfLine(line)}`,
    text: (_, { line }) => line,
  },
  models: { action: 'model.list' },
  agents: { action: 'agent.list', args: async (checks, folder) => [await checks.folder(folder)] },
  agent: { action: 'agent.inspect', args: async (checks, folder, name) => [await checks.folder(folder), name] },
  skills: { action: 'agent.inspect', args: async (checks, folder) => [await checks.folder(folder)] },
  checkAgent: { action: 'agent.list', args: async (checks, folder, name) => [await checks.folder(folder), name] },

  ...profileRules,

  narratives: { action: 'memory.read' },
  memories: { action: 'memory.read' },
  searchMemories: { action: 'memory.read' },
  searchFiles: { action: 'memory.read' },
  exportMemories: { action: 'memory.read' },
  remember: { action: 'memory.write' },
  changeMemory: { action: 'memory.write' },
  trustMemory: { action: 'memory.write' },
  forgetMemory: { action: 'memory.write' },
  importMemories: { action: 'memory.write' },

  backup: { action: 'home.backup' },

  whoami: { action: 'user.self' },
  doctor: { action: 'home.examine', args: async (checks, folder) => [await checks.folder(folder)] },
  settings: { action: 'config.read' },
  setting: { action: 'config.read' },
  users: { action: 'user.list' },
  addUser: { action: 'user.change', about: (id) => `user:${id}`, audited: always },
  setUser: { action: 'user.change', about: (id) => `user:${id}`, audited: always },
  removeUser: { action: 'user.change', about: (id) => `user:${id}`, audited: always },
  tokens: { action: 'token.list' },
  createToken: { action: 'token.change', about: holder, audited: always },
  createSignInLink: { action: 'token.change', about: holder, audited: always },
  revokeToken: { action: 'token.change', about: (id) => `token:${id}`, audited: always },
  audit: { action: 'audit.read' },
  metrics: { action: 'home.metrics' },
}

/** Whose token it is. */
function holder(user: string | null = null): string {
  return user === null ? 'owner' : `user:${user}`
}

const askActions = {
  message: 'run.ask',
  steer: 'run.steer',
  interrupt: 'run.interrupt',
} as const satisfies Record<string, Action>

/** What looking at a thing needs, where it is not a turn, a run or what belongs to one. */
const readActions: Partial<Record<ReferenceKind, Action>> = {
  memory: 'memory.read',
  narrative: 'memory.read',
  persona: 'persona.list',
  approval: 'approval.list',
}

function isPrivate(reference: string): boolean {
  return readActions[parseReference(reference).kind ?? 'turn'] === 'memory.read'
}

/** A label in a filter names the caller's own session, as everywhere. */
async function ownLabel<T extends { folder?: string; label?: string }>(
  checks: Checks,
  filter: T | undefined,
): Promise<T | undefined> {
  const at = await inFolder(checks, filter)
  return at?.label === undefined ? at : { ...at, label: checks.label(at.label) }
}

function withKind(kind: ReferenceKind, reference: string): string {
  return parseReference(reference).kind === null ? `${kind}:${reference}` : reference
}

function asSession(name: string): string {
  return withKind('session', name)
}
