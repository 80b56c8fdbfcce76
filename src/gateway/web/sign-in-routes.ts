import type { IncomingMessage } from 'node:http'
import type { Hono } from 'hono'
import { z } from 'zod'
import { HeddleError } from '../../domain/errors.ts'
import { parseFields, type RouteContext, type Sender } from '../http.ts'
import { type HttpEnv, jsonBody, strangerLimits } from '../request-body.ts'
import { cookieHeader } from './credential.ts'

export const signInPath = '/v1/sign-in'

const codeFields = z.strictObject({ code: z.string().min(1).max(200) })

interface SignInContext extends Pick<RouteContext, 'heddle' | 'health' | 'clock'> {
  home: { name: string; workspace: string }
  cookie: string
  isSecure: boolean
  senderOf(request: IncomingMessage): Sender
  /** Counts a wrong code; throws if there were too many. */
  onFailure(request: IncomingMessage): void
}

/** Signing a browser in and out, and who it is: routes that only a page needs. */
export function signInRoutes(http: Hono<HttpEnv>, context: SignInContext): void {
  const { heddle, health, home, clock, cookie, isSecure } = context
  http.post(signInPath, async (c) => {
    const { code } = parseFields(codeFields, await jsonBody(c, clock, strangerLimits))
    try {
      const { token, expiresAt } = await heddle.signIn(code)
      const seconds = Math.floor((expiresAt - clock.now()) / 1000)
      c.header('set-cookie', cookieHeader(cookie, token, { seconds, isSecure }))
      return c.json({ ok: true })
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'bad_code') context.onFailure(c.env.incoming)
      throw error
    }
  })
  http.post('/v1/sign-out', async (c) => {
    const { token } = context.senderOf(c.env.incoming)
    if (token !== undefined) await heddle.signOut(token)
    c.header('set-cookie', cookieHeader(cookie, '', { seconds: 0, isSecure }))
    return c.json({ ok: true })
  })
  http.get('/v1/me', async (c) => {
    const app = heddle.as(context.senderOf(c.env.incoming).principal)
    const [account, cursor, models] = await Promise.all([app.whoami(), app.cursor(), app.models()])
    const model = models.find(({ isDefault }) => isDefault)
    const { version, since } = health
    return c.json({
      ...account,
      // An admin, who may choose any folder, is not told the owner's.
      folder: account.rank === 'owner' ? home.workspace : account.folder,
      home: home.name,
      version,
      since,
      cursor,
      model: model ? { name: model.name, isReady: model.isReady, isRehearsal: model.provider === 'script' } : null,
    })
  })
}
