import { HeddleError, UsageError } from '../domain/errors.ts'
import type { Refusal } from './api.ts'
import { refusalOf } from './follower.ts'
import type { HttpContext } from './request-body.ts'
import { ownRoutes } from './routes/table.ts'
import { sendJson } from './send-json.ts'

/** Answers a request with its error; bugs are reported. */
export function refuse(c: HttpContext, error: unknown, onError: (error: unknown) => void): Response {
  const { status, body } = refusalAnswer(error, onError)
  return sendJson(c, body, status)
}

/** Status and body of a refusal. */
export function refusalAnswer(
  error: unknown,
  onError: (error: unknown) => void,
): { status: RefusalStatus; body: Refusal } {
  if (!(error instanceof HeddleError)) onError(error)
  const status = httpStatus(error)
  return { status, body: withMisuse(refusalOf(error), error, status) }
}

/** A status other than 400 and 413 does not tell the client whether the caller must change the request. */
function withMisuse(refusal: Refusal, error: unknown, status: number): Refusal {
  const isClear = status === 400 || status === 413 || refusal.error.code === 'no_route'
  return isClear || !(error instanceof UsageError) ? refusal : { ...refusal, error: { ...refusal.error, misuse: true } }
}

type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 421 | 429 | 500 | 503

const statusByCode = new Map<string, RefusalStatus>([
  ['no_token', 401],
  ['bad_code', 401],
  ['bad_method', 405],
  ['foreign_page', 403],
  ['unknown_host', 421],
  ['too_many_requests', 429],
  ['bad_token', 401],
  ['unknown_token', 401],
  ['forbidden', 403],
  ['not_found', 404],
  ['no_route', 404],
  ['too_large', 413],
  ['cursor_expired', 410],
  ['key_reused', 409],
])

function httpStatus(error: unknown): RefusalStatus {
  if (!(error instanceof HeddleError)) return 500
  const known = statusByCode.get(error.code)
  if (known) return known
  if (error instanceof UsageError) return 400
  return error.retry === 'later' ? 503 : 409
}

export function noRoute(c: HttpContext): UsageError {
  return new UsageError(
    `there is no ${c.req.method} ${c.req.path.slice(0, 100)}`,
    `GET ${ownRoutes.openapi} lists the routes`,
    'no_route',
  )
}
