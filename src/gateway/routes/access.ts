import { z } from 'zod'
import type { AccessApp } from '../../api/access.ts'
import { scopes } from '../../domain/access/actions.ts'
import { userRoles } from '../../domain/access/principal.ts'
import { folder, page } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

const userFields = {
  role: z.enum(userRoles).exactOptional(),
  trusted: z.boolean().exactOptional(),
  tools: z.array(z.string().max(200)).max(200).nullable().exactOptional(),
  perDayUsd: z.number().min(0).max(1_000_000).nullable().exactOptional(),
}

const userId = z.string().max(200)

export const accessRoutes: RoutesOf<AccessApp> = {
  users: [
    get('users', {
      path: '/v1/users',
      summary: 'Users, by id.',
      answer: { key: 'users' },
      call: (app) => app.users(),
      fields: () => ({}),
    }),
  ],
  addUser: [
    post('addUser', {
      path: '/v1/users',
      summary: 'Adds a user, or brings a removed one back.',
      input: z.strictObject({ user: userId, folder, ...userFields }),
      call: (app, { user, ...more }) => app.addUser(user, more),
      fields: (user, more) => ({ user, ...more }),
    }),
  ],
  setUser: [
    post('setUser', {
      path: '/v1/users/:id',
      summary: 'Changes what is named of a user; null takes back what the owner chose.',
      idForm: 'text',
      input: z.strictObject({ folder: folder.exactOptional(), ...userFields }),
      call: (app, { id, ...change }) => app.setUser(id, change),
      fields: (id, change) => ({ id, ...change }),
    }),
  ],
  removeUser: [
    post('removeUser', {
      path: '/v1/users/:id/remove',
      summary: "Removes a user and revokes the user's tokens; sessions and runs stay.",
      idForm: 'text',
      call: (app, { id }) => app.removeUser(id),
      fields: (id) => ({ id }),
    }),
  ],
  tokens: [
    get('tokens', {
      path: '/v1/tokens',
      summary: 'Tokens without their secrets, newest first.',
      answer: { key: 'tokens' },
      call: (app) => app.tokens(),
      fields: () => ({}),
    }),
  ],
  createToken: [
    post('createToken', {
      path: '/v1/tokens',
      summary: 'Makes a token for a user. It is in this answer and nowhere else.',
      key: 'refused',
      input: z.strictObject({
        user: userId.nullable().describe('null for the owner'),
        scopes: z.array(z.enum(scopes)).max(scopes.length).exactOptional(),
        expiresAt: z.int().min(0).exactOptional(),
      }),
      call: (app, { user, ...options }) => app.createToken(user, options),
      fields: (user, options) => ({ user, ...options }),
    }),
  ],
  createSignInLink: [
    post('createSignInLink', {
      path: '/v1/sign-in-links',
      summary: 'Makes the code of a link that signs one browser in. It is in this answer and nowhere else.',
      key: 'refused',
      input: z.strictObject({ user: userId.nullable().default(null).describe('null for the owner') }),
      call: (app, { user }) => app.createSignInLink(user),
      fields: (user = null) => ({ user }),
    }),
  ],
  revokeToken: [
    post('revokeToken', {
      path: '/v1/tokens/:id/revoke',
      summary: 'Revokes a token; its open streams close within a second.',
      idForm: 'number',
      call: (app, { id }) => app.revokeToken(Number(id)),
      fields: (id) => ({ id: String(id) }),
    }),
  ],
  audit: [
    get('audit', {
      path: '/v1/audit',
      summary: 'Who changed what, and what came of it; newest first.',
      input: z.strictObject(page),
      answer: { rows: 'audit' },
      call: (app, { id: _, ...query }) => app.audit(query),
      fields: (query) => ({ ...query }),
    }),
  ],
}
