import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../domain/clock.ts'
import { systemClock } from '../system.ts'
import { type EmbeddingsRequest, readEmbeddings, sendEmbeddings, type TestEmbeddings } from './embeddings-api.ts'
import { type OllamaModel, ollamaAnswer } from './ollama-api.ts'
import { replyBytes, wires } from './provider-events.ts'
import { ProviderLog, type ProviderLogLine } from './provider-log.ts'
import { lastUserText, type ProviderRule } from './provider-scripts.ts'
import { sendReply } from './provider-send.ts'
import { countTokens, type ProviderRequest, type WireName } from './provider-wire.ts'
import { splitNote } from './trailing-note.ts'

export interface ProviderOptions {
  answer: ProviderRule
  /** 0, the default, takes a free one. */
  port?: number
  /** A file of JSON lines that the log is also written to. */
  log?: string
  /** The key that clients must have; others are refused in a sentence that quotes theirs, as real providers do. */
  key?: string
  /** Makes it answer as Ollama does, too, with these models. */
  ollama?: OllamaModel[]
  /** How it answers at `/v1/embeddings`; without it, with vectors in which words stand for themselves. */
  embeddings?: TestEmbeddings
  /** The names that `GET /v1/models` tells. */
  serves?: string[]
  clock?: Clock
}

/** A provider of models on this machine, with a log of what it was asked and what it answered. */
export interface TestProvider {
  /** The `baseURL` for clients of every format but Google's. */
  url: string
  /** The `baseURL` for clients of Google's format. */
  googleUrl: string
  /** Where Ollama's own API is. */
  origin: string
  log: readonly ProviderLogLine[]
  /** The first line of the log that passes the test, once it is there. */
  until(test: (line: ProviderLogLine) => boolean): Promise<ProviderLogLine>
  /** Hangs up on everybody and stops. */
  close(): Promise<void>
}

/**
 * Starts a server that speaks OpenAI's chat completions and responses, Anthropic's messages and Google's format, all
 * streamed, and OpenAI's embeddings, with real sockets and whatever faults are asked for.
 */
export async function startProvider(options: ProviderOptions): Promise<TestProvider> {
  const clock = options.clock ?? systemClock
  const log = new ProviderLog(clock, options.log)
  let received = 0
  const attempts = new Map<string, number>()

  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readBody(request)
    const { method = '', url = '' } = request
    const path = url.replace(/\?.*$/, '')
    const lookedUp = lookUp(options, method, path, body)
    if (lookedUp !== undefined) return refuse(response, 200, lookedUp)
    const texts = method === 'POST' && path === '/v1/embeddings' ? readEmbeddings(body) : undefined
    if (texts) return embed(texts, body, request, response)
    const wire = method === 'POST' ? wireAt(path) : undefined
    const { body: conversation, note } = splitNote(body)
    const read = wire && wires[wire].read(conversation, path)
    if (!wire || !read) {
      const message =
        'send POST to /v1/chat/completions, /v1/messages, /v1/responses, …:streamGenerateContent or /v1/embeddings'
      return refuse(response, wire ? 400 : 404, { error: { message } })
    }
    const asked = { ...read, wire, ...(note !== undefined && { note }) }
    const n = ++received
    const header = request.headers['x-heddle-run']
    const stamp = { n, run: typeof header === 'string' ? header : null }
    const asking = lastUserText(asked)
    const attempt = attempts.get(asking) ?? 0
    attempts.set(asking, attempt + 1)
    log.add({ ...stamp, kind: 'received', model: asked.model, lastUserText: asking, body })

    const given = wires[wire].key(request.headers)
    if (options.key !== undefined && given !== options.key) {
      log.add({ ...stamp, kind: 'refused', status: 401 })
      return refuse(response, 401, wires[wire].refusal(401, `Incorrect API key provided: ${given}`))
    }
    await answer({ ...asked, attempt }, stamp, response)
  }

  const embed = (asked: EmbeddingsRequest, body: unknown, { headers }: IncomingMessage, response: ServerResponse) => {
    const stamp = { n: ++received, run: null }
    log.add({ ...stamp, kind: 'received', model: asked.model, lastUserText: asked.texts.at(-1) ?? '', body })
    const given = wires.chat.key(headers)
    if (options.key !== undefined && given !== options.key) {
      log.add({ ...stamp, kind: 'refused', status: 401 })
      return refuse(response, 401, wires.chat.refusal(401, `Incorrect API key provided: ${given}`))
    }
    response.once('close', () => !response.writableFinished && log.add({ ...stamp, kind: 'lost' }))
    const sent = sendEmbeddings(response, asked, options.embeddings ?? {})
    if (sent === 'answered' || sent === 'broken') log.add({ ...stamp, kind: sent, usage: null })
    else if (sent !== 'silent') log.add({ ...stamp, kind: 'refused', status: sent })
  }

  const answer = async (asked: ProviderRequest, stamp: { n: number; run: string | null }, response: ServerResponse) => {
    const hungUp = new Promise<undefined>((resolve) => response.once('close', () => resolve(undefined)))
    const given = await Promise.race([options.answer(asked), hungUp])
    if (given === undefined || response.destroyed) return log.add({ ...stamp, kind: 'lost' })
    const { faults = {} } = given
    if (faults.reset) {
      log.add({ ...stamp, kind: 'broken', usage: null })
      return response.socket?.resetAndDestroy()
    }
    if (faults.status) {
      const usual = wires[asked.wire].refusal(faults.status.code, `status ${faults.status.code}, as asked`)
      const { code, headers = {}, body = usual } = faults.status
      log.add({ ...stamp, kind: 'refused', status: code })
      return refuse(response, code, body, headers)
    }
    const counted = countTokens(asked, given)
    const { bytes, usageEnd } = replyBytes(asked.wire, given, given.model ?? asked.model, counted)
    const usage = faults.noUsage ? null : counted
    const isWhole = await sendReply(response, bytes, faults, clock, () =>
      log.add({ ...stamp, kind: 'answered', usage }),
    )
    if (isWhole) return
    const isOurs = faults.cutAt !== undefined
    if (isOurs) return log.add({ ...stamp, kind: 'broken', usage: (faults.cutAt ?? 0) >= usageEnd ? usage : null })
    log.add({ ...stamp, kind: 'lost' })
  }

  const server = createServer((request, response) => {
    receive(request, response).catch((error) => {
      process.stderr.write(`provider: ${error instanceof Error ? error.stack : error}\n`)
      response.destroy()
    })
  })
  // A connection that is closed while idle looks like a fault that nobody asked for.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${origin}/v1`,
    googleUrl: `${origin}/v1beta`,
    origin,
    log: log.lines,
    until: (test) => log.until(test),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function wireAt(path: string): WireName | undefined {
  if (path === '/v1/chat/completions') return 'chat'
  if (path === '/v1/messages') return 'messages'
  if (path === '/v1/responses') return 'responses'
  return path.endsWith(':streamGenerateContent') ? 'gemini' : undefined
}

/** What is not a request for a reply. */
function lookUp({ ollama, serves }: ProviderOptions, method: string, path: string, body: unknown): unknown {
  if (method === 'GET' && path === '/v1/models' && serves)
    return { object: 'list', data: serves.map((id) => ({ id, object: 'model' })) }
  return ollama && ollamaAnswer(ollama, method, path, body)
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}

function refuse(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
