import type { ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { HttpContext } from './request-body.ts'

/**
 * Answers a request with JSON. It is written straight to the connection: a Response would be made, filled with a stream and
 * read again, which takes as long as all checks of a request together.
 */
export function sendJson(c: HttpContext, value: unknown, status = 200): Response {
  writeJson(c.env.outgoing as ServerResponse, { status, value })
  return RESPONSE_ALREADY_SENT
}

/** Writes a whole answer; one that has begun already is broken off, so that no client takes it for the whole. */
export function writeJson(
  response: ServerResponse,
  { status, value, headers = {} }: { status: number; value: unknown; headers?: Record<string, string> },
): void {
  if (response.headersSent) return void response.destroy()
  const text = JSON.stringify(value)
  const length = Buffer.byteLength(text)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers })
  response.end(text)
}
