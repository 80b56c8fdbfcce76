import { UsageError } from '../errors.ts'

export const userRoles = ['public', 'operator', 'admin'] as const
/** What a user may do; the table in `actions.ts` says it for each action. */
export type UserRole = (typeof userRoles)[number]

/** A person with a token. */
interface UserPrincipal {
  kind: 'user'
  id: string
  role: UserRole
  /** What the token is limited to; undefined for all that the role allows. */
  scopes?: readonly string[]
}

/** On whose behalf something is done. A run acts with the rights of its request's principal, never with more. */
export type Principal =
  /** The person whose home it is: in the own process, or on the 0600 socket without a token. */
  | { kind: 'owner' }
  | UserPrincipal
  | { kind: 'hook'; id: string }
  | { kind: 'job'; id: string }
  | { kind: 'run'; id: string; of: Principal }

/** Rights of the principal on whose behalf a run acts, as they are at its claim. */
export interface RunAccess {
  principal: Principal
  /** The owner's choice of tools for the user, instead of those of the role. */
  tools: readonly string[] | null
  /** The owner asks in a session of the owner: only such a run sees what is private to the owner. */
  isPrivate: boolean
}

export const owner: Principal = { kind: 'owner' }

/** Text form of the owner, which is also the default of every column that holds a principal. */
export const ownerText = 'owner'

/**
 * Text form, as rows store it: `owner`, `user:mia`, `hook:deploy`, `job:7`, `run:RUNID@user:mia`. The role is left out: it
 * is read from the user's row at each use, so that a change counts at once.
 */
export function principalText(principal: Principal): string {
  if (principal.kind === 'owner') return ownerText
  const text = `${principal.kind}:${principal.id}`
  return principal.kind === 'run' ? `${text}@${principalText(principal.of)}` : text
}

/** Reads a text form. `roleOf` gives a user's role; a user without one, such as a removed user, is public. */
export function parsePrincipal(text: string, roleOf: (userId: string) => UserRole | undefined): Principal {
  if (text === ownerText) return owner
  const [, kind, id = '', of] = /^(user|hook|job|run):([^@:]+)(?:@(.+))?$/.exec(text) ?? []
  if (kind === 'run' && of !== undefined) return { kind, id, of: parsePrincipal(of, roleOf) }
  if (of === undefined && kind === 'user') return { kind, id, role: roleOf(id) ?? 'public' }
  if (of === undefined && (kind === 'hook' || kind === 'job')) return { kind, id }
  throw new UsageError(`"${text}" names no principal`, 'use owner, user:ID, hook:ID or job:ID', 'bad_principal')
}

/** The principal that a run acts for; any other principal acts for itself. */
export function actingFor(principal: Principal): Exclude<Principal, { kind: 'run' }> {
  return principal.kind === 'run' ? actingFor(principal.of) : principal
}

export function isOwner(principal: Principal): boolean {
  return actingFor(principal).kind === 'owner'
}

const principalIdPattern = /^[a-z0-9][a-z0-9_-]{0,39}$/

/** Whether a text form can hold this id. */
export function isPrincipalId(id: string): boolean {
  return principalIdPattern.test(id)
}

/** Refuses ids that a text form could not hold. */
export function checkPrincipalId(id: string): string {
  if (isPrincipalId(id)) return id
  throw new UsageError(
    `"${id}" cannot be an id`,
    'use 1 to 40 small letters, digits, _ and -, beginning with a letter or digit',
    'bad_id',
  )
}
