import type { IncomingMessage } from 'node:http'
import type { Hono } from 'hono'
import { z } from 'zod'
import type { Principal } from '../../domain/access/principal.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { Me, RecoveredRuns } from '../api.ts'
import { parseFields, type RouteContext } from '../http.ts'
import { type HttpEnv, jsonBody, unauthenticatedLimits } from '../request-body.ts'
import type { Sender } from '../rights.ts'
import { ownRoutes } from '../routes/table.ts'
import { sendJson } from '../send-json.ts'
import { cookieHeader } from './credential.ts'

const codeFields = z.strictObject({ code: z.string().min(1).max(200) })

/** What the page says of the home that it shows: its name and folder, and the folder to begin in. */
export interface HomeFacts {
  name: string
  folder: string
  workspace: string
  recovered: RecoveredRuns
}

interface SignInContext extends Pick<RouteContext, 'heddle' | 'health' | 'clock'> {
  home: HomeFacts
  cookie: string
  isSecure: boolean
  senderOf(request: IncomingMessage): Sender
  /** Hears of the token that a browser got. */
  onSignIn(token: string): void
  /** Counts a wrong code; throws if there were too many. */
  onFailure(request: IncomingMessage): void
}

/** Signing a browser in and out, and who it is: routes that only a page needs. */
export function signInRoutes(http: Hono<HttpEnv>, context: SignInContext): void {
  const { heddle, clock, cookie, isSecure } = context
  http.post(ownRoutes.signIn, async (c) => {
    const { code } = parseFields(codeFields, await jsonBody(c, clock, unauthenticatedLimits))
    try {
      const { token, expiresAt } = await heddle.signIn(code)
      context.onSignIn(token)
      const seconds = Math.floor((expiresAt - clock.now()) / 1000)
      c.env.outgoing.setHeader('set-cookie', cookieHeader(cookie, token, { seconds, isSecure }))
      return sendJson(c, { ok: true })
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'bad_code') context.onFailure(c.env.incoming)
      throw error
    }
  })
  http.post(ownRoutes.signOut, async (c) => {
    const { token } = context.senderOf(c.env.incoming)
    if (token !== undefined) await heddle.signOut(token)
    c.env.outgoing.setHeader('set-cookie', cookieHeader(cookie, '', { seconds: 0, isSecure }))
    return sendJson(c, { ok: true })
  })
  http.get(ownRoutes.me, async (c) => sendJson(c, await viewMe(context, context.senderOf(c.env.incoming).principal)))
}

async function viewMe({ heddle, health, home }: SignInContext, principal: Principal): Promise<Me> {
  const app = heddle.as(principal)
  const [account, cursor, models] = await Promise.all([app.whoami(), app.cursor(), app.models()])
  const model = models.find(({ isDefault }) => isDefault)
  const isHome = account.rank === 'owner'
  const [last] = isHome ? (await app.sessions({ kind: 'person', limit: 1 })).rows : []
  return {
    ...account,
    name: home.name,
    home: isHome ? home.folder : null,
    folder: isHome ? (last?.folder ?? home.workspace) : account.folder,
    version: health.version,
    since: health.since,
    cursor,
    model: model ? { name: model.name, isReady: model.isReady, isRehearsal: model.provider === 'script' } : null,
    recovered: isHome ? home.recovered : null,
  }
}
