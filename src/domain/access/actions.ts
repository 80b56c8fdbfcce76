import type { UserRole } from './principal.ts'

export const scopes = ['ask', 'read', 'steer', 'approve', 'manage'] as const
/** A group of actions that a token can be limited to. */
export type AccessScope = (typeof scopes)[number]

/** Rights in ascending order; the owner has all. */
export type Rank = UserRole | 'owner'

/** Ranks and scope that an action needs. */
export interface ActionRow {
  /** Least rank for what is the principal's own, and for lists, which then hold only that. */
  own: Rank
  /** Least rank for what is another's, and for lists of everything. */
  any: Rank
  scope: AccessScope
  /** It changes something: others than the owner leave a line in the audit. */
  changes?: true
}

/**
 * Everything that can be done, and who may do it. The only source of rights: the guard around App, the tools of runs and
 * the engine's own wakes ask it, and docs/guide/access.md prints it.
 */
export const actions = {
  /** Sends an input to a session. */
  'run.ask': { own: 'public', any: 'admin', scope: 'ask', changes: true },
  'run.answer': { own: 'public', any: 'admin', scope: 'ask' },
  /** Reaches a run under way at its next step. */
  'run.steer': { own: 'operator', any: 'admin', scope: 'steer', changes: true },
  /** Stops a run under way by a new input. */
  'run.interrupt': { own: 'operator', any: 'admin', scope: 'steer', changes: true },
  'run.cancel': { own: 'public', any: 'admin', scope: 'steer', changes: true },
  'run.retry': { own: 'public', any: 'admin', scope: 'ask', changes: true },
  /** Restores files that a run changed. */
  'run.undo': { own: 'admin', any: 'admin', scope: 'manage', changes: true },
  /** Starts a run in a session that a result has reached. */
  'run.wake': { own: 'public', any: 'admin', scope: 'ask', changes: true },
  /** Starts another agent. */
  'run.spawn': { own: 'operator', any: 'owner', scope: 'ask', changes: true },
  'run.list': { own: 'public', any: 'admin', scope: 'read' },
  'run.usage': { own: 'public', any: 'admin', scope: 'read' },
  'run.status': { own: 'public', any: 'admin', scope: 'read' },

  'session.list': { own: 'public', any: 'admin', scope: 'read' },
  /** Finds the session that a message belongs to. */
  'session.route': { own: 'public', any: 'admin', scope: 'read' },
  'session.rename': { own: 'operator', any: 'admin', scope: 'steer', changes: true },
  /** Sets a session's own system prompt; the owner must trust the user, too. */
  'session.configure': { own: 'operator', any: 'admin', scope: 'steer', changes: true },
  'session.archive': { own: 'operator', any: 'admin', scope: 'steer', changes: true },

  'turn.read': { own: 'public', any: 'admin', scope: 'read' },
  /** Explains where something comes from, across sessions, files and memories. */
  'turn.explain': { own: 'operator', any: 'owner', scope: 'read' },
  'turn.fork': { own: 'public', any: 'admin', scope: 'ask', changes: true },
  /** Adds a hand-made turn, with words in the model's mouth. */
  'turn.append': { own: 'operator', any: 'admin', scope: 'steer', changes: true },
  'turn.export': { own: 'operator', any: 'owner', scope: 'read' },
  'turn.import': { own: 'owner', any: 'owner', scope: 'manage', changes: true },

  'plan.list': { own: 'public', any: 'admin', scope: 'read' },
  'plan.change': { own: 'operator', any: 'admin', scope: 'steer', changes: true },
  'result.list': { own: 'public', any: 'admin', scope: 'read' },

  'job.list': { own: 'operator', any: 'admin', scope: 'read' },
  /** Makes, changes, starts and removes work that starts by itself. */
  'job.change': { own: 'operator', any: 'admin', scope: 'steer', changes: true },
  /** Emits an event, which starts the jobs that wait for it. */
  'job.emit': { own: 'operator', any: 'admin', scope: 'ask', changes: true },
  /** Lets jobs and messages of a restored database go. */
  'job.resume': { own: 'owner', any: 'owner', scope: 'manage', changes: true },

  'approval.list': { own: 'operator', any: 'admin', scope: 'read' },
  'approval.decide': { own: 'admin', any: 'admin', scope: 'approve', changes: true },
  'grant.list': { own: 'admin', any: 'admin', scope: 'read' },
  'grant.revoke': { own: 'admin', any: 'admin', scope: 'approve', changes: true },

  /** Events and the text of runs, once or as a stream. */
  'event.read': { own: 'public', any: 'admin', scope: 'read' },
  'event.prune': { own: 'owner', any: 'owner', scope: 'manage', changes: true },

  /** Chat commands: which there are, and those that only change one's own chat. */
  'command.list': { own: 'public', any: 'public', scope: 'read' },

  'model.list': { own: 'public', any: 'public', scope: 'read' },
  'agent.list': { own: 'public', any: 'public', scope: 'read' },
  /** Agent files: where they are, what they say, and their problems. */
  'agent.inspect': { own: 'admin', any: 'admin', scope: 'read' },
  /** Profiles with their prompts, and who changed what of profiles and the registry. */
  'profile.read': { own: 'operator', any: 'operator', scope: 'read' },
  'profile.change': { own: 'admin', any: 'admin', scope: 'manage', changes: true },
  /** Changes which agents there are to delegate to; the owner must trust the user, too. */
  'agent.register': { own: 'operator', any: 'operator', scope: 'manage', changes: true },
  'pin.read': { own: 'public', any: 'admin', scope: 'read' },
  /** Pins a profile for a session or for oneself. */
  'pin.set': { own: 'public', any: 'admin', scope: 'steer', changes: true },
  /** Pins a profile for a folder or for all. */
  'pin.share': { own: 'operator', any: 'operator', scope: 'manage', changes: true },
  /** What personas are like is the owner's; anyone who knows the name of one may talk to it. */
  'persona.list': { own: 'admin', any: 'admin', scope: 'read' },
  'persona.set': { own: 'admin', any: 'admin', scope: 'manage', changes: true },

  /** Memories, narratives and the owner's files: private. */
  'memory.read': { own: 'owner', any: 'owner', scope: 'read' },
  'memory.write': { own: 'owner', any: 'owner', scope: 'manage', changes: true },

  /** Settings of this home: paths and addresses are the owner's. */
  'config.read': { own: 'owner', any: 'owner', scope: 'manage' },
  /** Checks the installation. */
  'home.examine': { own: 'owner', any: 'owner', scope: 'manage' },
  /** Figures for monitoring, about everyone. */
  'home.metrics': { own: 'admin', any: 'admin', scope: 'read' },
  'home.backup': { own: 'owner', any: 'owner', scope: 'manage', changes: true },

  /** Who the caller is. */
  'user.self': { own: 'public', any: 'public', scope: 'read' },
  'user.list': { own: 'admin', any: 'admin', scope: 'manage' },
  'user.change': { own: 'owner', any: 'owner', scope: 'manage', changes: true },
  'token.list': { own: 'owner', any: 'owner', scope: 'manage' },
  'token.change': { own: 'owner', any: 'owner', scope: 'manage', changes: true },
  'audit.read': { own: 'admin', any: 'admin', scope: 'manage' },
} as const satisfies Record<string, ActionRow>

export type Action = keyof typeof actions
