import { hash } from 'node:crypto'
import type { SignInLink } from '../api/access.ts'
import type { SignedIn } from '../api/heddle.ts'
import { owner, type Principal, principalText } from '../domain/access/principal.ts'
import type { Token, User } from '../domain/access/user.ts'
import type { Millis, Random } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Runtime } from '../engine/runtime.ts'
import { insertAudit } from '../store/rows/access/audit.ts'
import { deleteExpiredLinks, findToken, insertToken, revokeToken, takeLink } from '../store/rows/access/tokens.ts'
import { findUser } from '../store/rows/access/users.ts'
import type { Reading, Tx } from '../store/store.ts'

const secretBytes = 32
/** So that a token is recognised where it should not be, such as in a log or a repository. */
const tokenPrefix = 'hdl_'
const linkLife: Millis = 10 * 60_000
const browserLife: Millis = 30 * 86_400_000

type AccessRuntime = Pick<Runtime, 'store' | 'clock'>

export function newToken(random: Random): string {
  return `${tokenPrefix}${newSecret(random)}`
}

/** Tokens have 256 random bits: a plain hash is enough. */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'hex')
}

export function stateOf({ revokedAt, expiresAt }: Token, now: Millis): 'valid' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'
}

/**
 * Whose token it is; without one the owner, whose process or private socket this is. Read from the rows each time, so that
 * a revocation and a change of role count at once.
 */
export async function identify({ store, clock }: AccessRuntime, token: string | undefined): Promise<Principal> {
  if (token === undefined) return owner
  const found = await store.read(async (rows) => holderOf(rows, await findToken(rows, tokenHash(token))))
  const state = found && stateOf(found.token, clock.now())
  // The code of a link is good for signing in, and for nothing else.
  if (!found || state !== 'valid' || found.token.kind === 'link') throw unknownToken(state)
  return principalOf(found)
}

/** Makes the code of a link that signs one browser in; codes that were never used go. */
export async function createLink({ clock }: AccessRuntime, tx: Tx, userId: string | null, random: Random) {
  const now = clock.now()
  const code = newSecret(random)
  await deleteExpiredLinks(tx, now)
  await insertToken(tx, { ...rowFor(userId, now, linkLife), kind: 'link', hash: tokenHash(code) })
  return { code, user: userId, expiresAt: new Date(now + linkLife).toISOString() } satisfies SignInLink
}

/** Exchanges a code for the token of a browser. The code is gone afterwards. */
export async function signIn({ store, clock }: AccessRuntime, code: string, random: Random): Promise<SignedIn> {
  const token = newToken(random)
  const now = clock.now()
  const signedIn = await store.write('access', async (tx) => {
    const link = await takeLink(tx, tokenHash(code))
    const found = await holderOf(tx, link && stateOf(link, now) === 'valid' ? link : undefined)
    if (!found) return undefined
    const row = rowFor(found.token.userId, now, browserLife)
    const id = await insertToken(tx, { ...row, kind: 'browser', hash: tokenHash(token) })
    const principal = principalOf(found)
    await insertAudit(tx, lineAbout('browser.sign-in', principal, id, now))
    return { token, principal, expiresAt: now + browserLife }
  })
  if (signedIn) return signedIn
  throw new HeddleError('bad_code', 'this link was used before or has expired', 'get a new one: heddle open')
}

/** Ends a browser's token; a token of another kind stays. */
export async function signOut({ store, clock }: AccessRuntime, token: string): Promise<void> {
  const now = clock.now()
  await store.write('access', async (tx) => {
    const found = await holderOf(tx, await findToken(tx, tokenHash(token)))
    if (found?.token.kind !== 'browser' || !(await revokeToken(tx, found.token.id, now))) return
    await insertAudit(tx, lineAbout('browser.sign-out', principalOf(found), found.token.id, now))
  })
}

/** The line of the audit about a browser, in the transaction that signs it in or out. */
function lineAbout(action: 'browser.sign-in' | 'browser.sign-out', principal: Principal, tokenId: number, at: Millis) {
  return { at, principal: principalText(principal), action, resource: `token:${tokenId}`, outcome: 'ok', detail: null }
}

interface Holder {
  token: Token
  /** Null for the owner. */
  user: User | null
}

/** Who has this token; undefined for one of a user who was removed. */
async function holderOf(rows: Reading, token: Token | undefined): Promise<Holder | undefined> {
  if (!token) return undefined
  if (token.userId === null) return { token, user: null }
  const user = await findUser(rows, token.userId)
  return user?.removedAt === null ? { token, user } : undefined
}

function principalOf({ token: { scopes }, user }: Holder): Principal {
  return user ? { kind: 'user', id: user.id, role: user.role, ...(scopes && { scopes }) } : owner
}

function rowFor(userId: string | null, now: Millis, life: Millis) {
  return { userId, scopes: null, createdAt: now, expiresAt: now + life }
}

function newSecret(random: Random): string {
  return Buffer.from(random.bytes(secretBytes)).toString('base64url')
}

function unknownToken(state: ReturnType<typeof stateOf> | undefined): HeddleError {
  const message = state === 'expired' ? 'this token has expired' : 'no user has this token'
  return new HeddleError('unknown_token', message, 'ask the owner for a new one: heddle tokens create --user ID')
}
