import type { IncomingMessage } from 'node:http'
import { HeddleError, UsageError } from '../../domain/errors.ts'

/** Credential of a request: a token or a cookie. */
export interface Credential {
  token: string
  /** Sent by a browser by itself, and not by a program on purpose. */
  isCookie: boolean
}

const tokenForm = /^[\x21-\x7e]{1,500}$/

/** The token of a request's `Authorization`; undefined without that header. */
export function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [, token] = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(header) ?? []
  if (token !== undefined) return token
  throw new UsageError(
    'the authorization is not a token',
    'send Authorization: Bearer TOKEN, or leave it out',
    'bad_token',
  )
}

/** The token or the cookie of a request; throws if it has neither. */
export function credentialOf({ headers }: IncomingMessage, cookie: string): Credential {
  const bearer = bearerToken(headers.authorization)
  if (bearer !== undefined) return { token: bearer, isCookie: false }
  const token = cookieValue(headers.cookie ?? '', cookie)
  if (token === undefined) throw noCredential()
  return { token, isCookie: true }
}

/** Name of the cookie: browsers keep the cookies of all ports of a host together, and a machine may have several homes. */
export function cookieName(port: number): string {
  return `heddle-${port}`
}

/** A cookie that no script can read, and that no other site can make a browser send; ended by a life of 0. */
export function cookieHeader(name: string, value: string, { seconds, isSecure }: CookieLife): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

interface CookieLife {
  seconds: number
  /** Only over TLS. */
  isSecure: boolean
}

function cookieValue(header: string, name: string): string | undefined {
  const found = header
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each.startsWith(`${name}=`))
  const [value] = found.map((each) => each.slice(name.length + 1))
  // Two of one name: a page of another port could have set the second.
  return found.length === 1 && value !== undefined && tokenForm.test(value) ? value : undefined
}

function noCredential(): HeddleError {
  return new HeddleError(
    'no_token',
    'this needs a token, or a browser that has signed in',
    'in a browser: heddle open; for a program: heddle tokens create --user ID, sent as Authorization: Bearer TOKEN',
  )
}
