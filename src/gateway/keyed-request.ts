import { createHash } from 'node:crypto'
import { UsageError } from '../domain/errors.ts'
import type { HttpContext } from './request-body.ts'
import type { Fields, Route } from './routes/route.ts'

/** A request with the key by which its sender names it, if it has one. */
interface RequestWithKey {
  key: string | undefined
  /** Hash of route and fields: the same request, however its JSON is written. Empty without a key. */
  hash: string
  fields: Fields
  isRepeatable: boolean
}

/**
 * The key of a request: its header `Idempotency-Key`, or the `dedupeKey` among its fields. Where there is such a field, the
 * header counts as it too: the App then knows the input again even if this process dies before it has answered.
 */
export function keyedRequest(c: HttpContext, route: Route, fields: Fields): RequestWithKey {
  const given = c.env.incoming.headers['idempotency-key']
  const header = Array.isArray(given) ? given.join(', ') : given
  if (header !== undefined && route.key === 'refused')
    throw new UsageError(
      'this request takes no idempotency key: its answer is secret, and is not kept',
      'leave the header out',
      'bad_request',
    )
  const isRepeatable = 'dedupeKey' in route.input.shape
  const own = isRepeatable && typeof fields['dedupeKey'] === 'string' ? fields['dedupeKey'] : undefined
  const key = route.verb === 'GET' || route.key !== 'kept' ? undefined : (header ?? own)
  const known = isRepeatable && key !== undefined ? { dedupeKey: key, ...fields } : fields
  return { key, hash: key === undefined ? '' : hashOfRequest(route, known), fields: known, isRepeatable }
}

function hashOfRequest({ verb, path }: Route, fields: Fields): string {
  return createHash('sha256')
    .update(`${verb} ${path}\n${JSON.stringify(fields)}`)
    .digest('hex')
}
