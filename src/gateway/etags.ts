import { HeddleError, UsageError } from '../domain/errors.ts'
import { refusalOf } from './follower.ts'
import type { HttpContext } from './request-body.ts'
import type { VersionedAnswer } from './routes/route.ts'
import { sendJson } from './send-json.ts'

export function etagOf({ version }: VersionedAnswer): string {
  return `"${version}"`
}

/** The body of a change with the version that If-Match names, unless the body says it. */
export function withExpected(body: unknown, c: HttpContext): unknown {
  const tag = c.req.header('if-match')
  if (tag === undefined || typeof body !== 'object' || body === null) return body
  const [, version] = /^"(\d{1,15})"$/.exec(tag) ?? []
  if (version === undefined)
    throw new UsageError('If-Match has no version', 'send the ETag of the answer that you changed', 'bad_request')
  return { expectedVersion: Number(version), ...body }
}

/** Whether a change was refused because another one was faster. */
export function isTooLate(error: unknown): error is HeddleError {
  return error instanceof HeddleError && error.code === 'changed_meanwhile'
}

/** Refuses the change of an old version, and tells the newest: 412 if the sender named it by If-Match, else 409. */
export function refuseLateChange(c: HttpContext, error: HeddleError, newest: VersionedAnswer): Response {
  c.env.outgoing.setHeader('etag', etagOf(newest))
  return sendJson(c, { ...refusalOf(error), newest }, c.req.header('if-match') === undefined ? 409 : 412)
}
