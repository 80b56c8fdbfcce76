import type { Action } from '../../domain/access/actions.ts'
import { authorize, type Resource } from '../../domain/access/authorize.ts'
import {
  actingFor,
  isOwner,
  owner,
  ownerText,
  type Principal,
  parsePrincipal,
  principalText,
  type RunAccess,
} from '../../domain/access/principal.ts'
import type { User } from '../../domain/access/user.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Label } from '../../domain/label.ts'
import type { Part } from '../../domain/message.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { findUser } from '../../store/rows/access/users.ts'
import { sourcesOfContents } from '../../store/rows/untrusted-files.ts'
import type { Reading } from '../../store/store.ts'
import { hashOf } from '../../tools/files/content-hash.ts'

/** The principal of a stored text form, with the role that the user has now. */
export async function resolvePrincipal(rows: Reading, text: string): Promise<Principal> {
  if (text === ownerText) return owner
  const user = await userOf(rows, text)
  return parsePrincipal(text, () => (user?.removedAt === null ? user.role : undefined))
}

/** Whether the principal of a stored text form may do this now. */
export async function isStillAllowed(
  rows: Reading,
  text: string,
  action: Action,
  resource: Resource,
): Promise<boolean> {
  return text === ownerText || authorize(await resolvePrincipal(rows, text), action, resource)
}

/** Rights of a run's principal now. A run of the owner in a session of another shows that one nothing private. */
export async function accessOf(
  rows: Reading,
  { principal: text, id }: Pick<Run, 'principal' | 'id'>,
  session: Pick<Session, 'principalId'>,
): Promise<RunAccess> {
  const isPrivate = text === ownerText && session.principalId === ownerText
  const of = await resolvePrincipal(rows, text)
  const tools = (await userOf(rows, text))?.tools ?? null
  return { principal: { kind: 'run', id, of }, tools, isPrivate }
}

/** The user that a stored text form names; undefined for other principals. */
export async function userOf(rows: Reading, text: string): Promise<User | undefined> {
  const [, id] = /(?:^|@)user:([^@:]+)$/.exec(text) ?? []
  return id === undefined ? undefined : findUser(rows, id)
}

/**
 * The trust label of a sender's words; the only place that decides it. The owner's are trusted, all others' are not unless
 * the owner vouched for the user.
 */
export async function senderLabel(rows: Reading, principal: Principal): Promise<Label> {
  if (isOwner(principal)) return { integrity: 'trusted', sources: [] }
  const text = principalText(actingFor(principal))
  const user = await userOf(rows, text)
  if (actingFor(principal).kind === 'user' && user?.removedAt !== null) throw removedUser(text)
  return { integrity: user?.isTrusted ? 'trusted' : 'untrusted', sources: [text] }
}

/**
 * Only whom the owner trusts may write a system prompt: a model takes it for the owner's word, and nothing in a later run
 * would show that it is not.
 */
export async function assertMayWritePrompt(rows: Reading, principal: Principal): Promise<void> {
  if ((await senderLabel(rows, principal)).integrity === 'trusted') return
  throw new HeddleError(
    'not_trusted',
    'only the owner, and users whom the owner trusts, may write a system prompt',
    'ask the owner to write it, or to trust you: heddle users set NAME --trusted',
  )
}

/** Label of attached files: an untrusted run may have written one of them. */
export async function labelOfParts(rows: Reading, parts: readonly Part[]): Promise<Label> {
  const hashes = parts.map(({ data }) => hashOf(Buffer.from(data, 'base64')))
  const sources = await sourcesOfContents(rows, hashes)
  return { integrity: sources.length > 0 ? 'untrusted' : 'trusted', sources }
}

function removedUser(text: string): HeddleError {
  return new HeddleError('forbidden', `${text} was removed`, 'ask the owner for access: heddle users add')
}
