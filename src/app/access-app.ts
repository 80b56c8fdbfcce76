import type { AccessApp, TokenView, UserChange, UserView } from '../api/access.ts'
import { checkLimit, cursorFrom, positionOfCursor } from '../api/views/page.ts'
import { type AccessScope, scopes as allScopes } from '../domain/access/actions.ts'
import { checkPrincipalId, isPrincipalId, type UserRole, userRoles } from '../domain/access/principal.ts'
import type { Token, User } from '../domain/access/user.ts'
import type { Random } from '../domain/clock.ts'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { unknownToolHint, unknownTools } from '../domain/tools/unknown-tools.ts'
import type { Runtime } from '../engine/runtime.ts'
import { listAudit } from '../store/rows/access/audit.ts'
import { insertToken, listTokens, revokeToken, revokeTokensOf } from '../store/rows/access/tokens.ts'
import { findUser, insertUser, listUsers, removeUser, updateUser } from '../store/rows/access/users.ts'
import type { Reading } from '../store/store.ts'
import { createLink, newToken, stateOf, tokenHash } from './sign-in.ts'

/** The last moment that a date can name. */
const maxMoment = 8.64e15
const defaultLines = 50

/** Users, tokens and the audit. `realFolder` gives the one name of a folder in which agents may work. */
export function accessApp(
  runtime: Runtime,
  context: { random: Random; knownTools: readonly string[]; realFolder(folder: string): string },
): AccessApp {
  const { store, clock } = runtime
  const { random, realFolder } = context
  const changed = (user: User, change: UserChange) => changedUser(user, change, context.knownTools)
  return {
    users: async () => (await store.read(listUsers)).map(viewUser),
    async addUser(id, { folder, ...change }) {
      const made = changed(newUser(checkPrincipalId(id), realFolder(folder), clock.now()), change)
      await store.write('access', async (tx) => {
        if (await insertUser(tx, made)) return
        const before = await findUser(tx, id)
        if (before?.removedAt === null) throw userExists(id)
        await updateUser(tx, made)
      })
      return viewUser(made)
    },
    setUser: (id, { folder, ...change }) =>
      store.write('access', async (tx) => {
        const real = folder === undefined ? {} : { folder: realFolder(folder) }
        const user = changed(await knownUser(tx, id), { ...change, ...real })
        await updateUser(tx, user)
        return viewUser(user)
      }),
    removeUser: (id) =>
      store.write('access', async (tx) => {
        await knownUser(tx, id)
        await removeUser(tx, id, clock.now())
        return { tokens: await revokeTokensOf(tx, id, clock.now()) }
      }),
    tokens: async () => (await store.read(listTokens)).map((token) => viewToken(token, clock.now())),
    async createToken(user, { scopes, expiresAt } = {}) {
      const createdAt = clock.now()
      if (expiresAt !== undefined) assertLater(expiresAt, createdAt)
      if (user === null && scopes) throw ownerScopes()
      const token = newToken(random)
      const row = {
        kind: 'token' as const,
        userId: user,
        scopes: scopes ? checkScopes(scopes) : null,
        createdAt,
        expiresAt: expiresAt ?? null,
      }
      const id = await store.write('access', async (tx) => {
        if (user !== null) await knownUser(tx, user)
        return insertToken(tx, { ...row, hash: tokenHash(token) })
      })
      return { ...viewToken({ ...row, id, revokedAt: null }, createdAt), token }
    },
    createSignInLink: (user = null) =>
      store.write('access', async (tx) => {
        if (user !== null) await knownUser(tx, user)
        return createLink(runtime, tx, user, random)
      }),
    async revokeToken(id) {
      if (!(await store.write('access', (tx) => revokeToken(tx, id, clock.now())))) throw noToken(id)
    },
    async audit({ limit = defaultLines, after } = {}) {
      const page = { limit: checkLimit(limit) + 1, ...(after !== undefined && { after: positionOfCursor(after)[0] }) }
      const found = await store.read((rows) => listAudit(rows, page))
      const shown = found.slice(0, limit)
      const last = found.length > limit ? shown.at(-1) : undefined
      return {
        rows: shown.map(({ seq: _, at, ...line }) => ({ at: new Date(at).toISOString(), ...line })),
        ...(last && { next: cursorFrom([last.seq, 'audit']) }),
      }
    },
  }
}

function newUser(id: string, folder: string, createdAt: number): User {
  return { id, role: 'public', isTrusted: false, tools: null, folder, perDayUsd: null, createdAt, removedAt: null }
}

function changedUser(user: User, change: UserChange, knownTools: readonly string[]): User {
  const { role, trusted, tools, folder, perDayUsd } = change
  if (perDayUsd !== undefined && perDayUsd !== null && !(perDayUsd >= 0 && Number.isFinite(perDayUsd)))
    throw new UsageError('the budget of a day is not a number of dollars', 'use 0 or more, such as 2.50', 'bad_budget')
  return {
    ...user,
    ...(role !== undefined && { role: checkRole(role) }),
    ...(trusted !== undefined && { isTrusted: trusted }),
    ...(tools !== undefined && { tools: tools && checkTools(tools, knownTools) }),
    ...(folder !== undefined && { folder }),
    ...(perDayUsd !== undefined && { perDayUsd }),
  }
}

function checkTools(tools: string[], own: readonly string[]): string[] {
  const [unknown] = unknownTools({ allow: tools }, own)
  if (!unknown) return tools
  throw new UsageError(`there is no tool "${unknown.name}"`, unknownToolHint(unknown), 'tool_unknown')
}

function checkRole(role: UserRole): UserRole {
  if (userRoles.includes(role)) return role
  throw new UsageError(`"${role}" is not a role`, `use ${userRoles.join(', ')}`, 'bad_role')
}

function checkScopes(scopes: AccessScope[]): AccessScope[] {
  const unknown = scopes.find((scope) => !allScopes.includes(scope))
  if (unknown === undefined && scopes.length > 0) return [...new Set(scopes)]
  throw new UsageError(`"${unknown ?? ''}" is not a scope`, `use one or more of ${allScopes.join(', ')}`, 'bad_scope')
}

async function knownUser(rows: Reading, id: string): Promise<User> {
  const user = isPrincipalId(id) ? await findUser(rows, id) : undefined
  if (user?.removedAt === null) return user
  throw new HeddleError('not_found', `there is no user "${id}" here`, 'list them with: heddle users')
}

function userExists(id: string): HeddleError {
  return new HeddleError('user_exists', `there is already a user "${id}"`, `change it: heddle users set ${id} …`)
}

function noToken(id: number): HeddleError {
  return new HeddleError('not_found', `there is no valid token ${id} here`, 'list them with: heddle tokens')
}

function ownerScopes(): UsageError {
  return new UsageError('an owner token has no scopes', 'create a user with fewer rights instead', 'bad_scope')
}

function assertLater(moment: number, now: number): void {
  if (Number.isSafeInteger(moment) && moment > now && moment <= maxMoment) return
  throw new UsageError('the expiry time has already passed', 'give a later time, such as 30d', 'bad_time')
}

function viewUser({ id, role, isTrusted, tools, folder, perDayUsd, createdAt }: User): UserView {
  return { id, role, trusted: isTrusted, tools, folder, perDayUsd, createdAt: new Date(createdAt).toISOString() }
}

function viewToken(token: Token, now: number): TokenView {
  const { id, kind, userId, scopes, createdAt, expiresAt } = token
  return {
    id,
    kind,
    user: userId,
    scopes: scopes as AccessScope[] | null,
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    state: stateOf(token, now),
  }
}
