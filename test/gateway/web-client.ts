import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import type { WebSettings } from '../../src/gateway/web/web-server.ts'
import type { OwnerApp } from '../setup/owner-app.ts'

/** Settings of a page for tests: any free port of this machine. */
export const webSettings: WebSettings = {
  bind: '127.0.0.1',
  port: 0,
  allowOtherPort: true,
  hosts: [],
  allowPlain: false,
  requestsPerSecond: 10_000,
  failuresPerMinute: 60_000,
  home: {
    name: 'test',
    folder: '/home',
    workspace: '/here',
    recovered: { resumed: [], quarantined: [], lost: 0, unknownCalls: 0 },
  },
}

export interface WebAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The code of a refusal. */
  code: string | undefined
}

/** Sends one request over TCP, with exactly these headers besides those that Node adds. */
export function send(
  url: string,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<WebAnswer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, {
      method,
      agent: false,
      headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
    })
    sent.on('error', reject)
    sent.once('response', async (response) => {
      let got = ''
      for await (const piece of response.setEncoding('utf8')) got += piece
      const code = /^\{"ok":false/.test(got) ? JSON.parse(got).error.code : undefined
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: got, code })
    })
    sent.end(text)
  })
}

/** Signs a browser in and returns its cookie, as a header. */
export async function signedIn(app: OwnerApp, url: string, user: string | null = null): Promise<string> {
  const { code } = await app.createSignInLink(user)
  const { headers } = await send(url, '/v1/sign-in', { method: 'POST', headers: { origin: url }, body: { code } })
  return headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}

/** Writes raw bytes and returns what came back until the server closed, or until the text has the ending. */
export function raw(url: string, bytes: string, until?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(got) : reject(error)))
    socket.on('close', () => resolve(got))
    socket.on('data', (piece) => {
      got += piece
      if (until?.test(got)) socket.destroy()
    })
  })
}
