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
  /** Default 0: a free port. */
  port?: number
  /** File of JSON lines to which the log is also written. */
  log?: string
  /** Required key; a wrong key is refused with a message that quotes it, as real providers do. */
  key?: string
  /** Also answers Ollama's API, with these models. */
  ollama?: OllamaModel[]
  /** Behaviour of `/v1/embeddings`; default: vectors by words. */
  embeddings?: TestEmbeddings
  /** Model names for `GET /v1/models`. */
  serves?: string[]
  clock?: Clock
}

/** A local model provider for tests, with a log of requests and answers. */
export interface TestProvider {
  /** The `baseURL` for clients of every format but Google's. */
  url: string
  /** The `baseURL` for clients of Google's format. */
  googleUrl: string
  /** Base of Ollama's API. */
  origin: string
  log: readonly ProviderLogLine[]
  /** Resolves with the first log line that passes the test. */
  until(test: (line: ProviderLogLine) => boolean): Promise<ProviderLogLine>
  /** Closes all connections and stops; then the log is complete. */
  close(): Promise<void>
}

/**
 * Starts a server that speaks OpenAI's chat completions and responses, Anthropic's messages and Google's format, all
 * streamed, and OpenAI's embeddings, with real sockets and configurable faults.
 */
export async function startProvider(options: ProviderOptions): Promise<TestProvider> {
  const clock = options.clock ?? systemClock
  const log = new ProviderLog(clock, options.log)
  let received = 0
  const attempts = new Map<string, number>()

  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readJsonBody(request)
    const { method = '', url = '' } = request
    const path = url.replace(/\?.*$/, '')
    const listing = answerListing(options, method, path, body)
    if (listing !== undefined) return sendBody(response, 200, listing)
    const texts = method === 'POST' && path === '/v1/embeddings' ? readEmbeddings(body) : undefined
    if (texts) return embed(texts, body, request, response)
    const wire = method === 'POST' ? wireAt(path) : undefined
    const { body: conversation, note } = splitNote(body)
    const read = wire && wires[wire].read(conversation, path)
    if (!wire || !read) {
      const message =
        'send POST to /v1/chat/completions, /v1/messages, /v1/responses, …:streamGenerateContent or /v1/embeddings'
      return sendBody(response, wire ? 400 : 404, { error: { message } })
    }
    const parsed = { ...read, wire, ...(note !== undefined && { note }) }
    const n = ++received
    const header = request.headers['x-heddle-run']
    const stamp = { n, run: typeof header === 'string' ? header : null }
    const userText = lastUserText(parsed)
    const attempt = attempts.get(userText) ?? 0
    attempts.set(userText, attempt + 1)
    log.add({ ...stamp, kind: 'received', model: parsed.model, lastUserText: userText, body })

    const key = wires[wire].key(request.headers)
    if (options.key !== undefined && key !== options.key) {
      log.add({ ...stamp, kind: 'refused', status: 401 })
      return sendBody(response, 401, wires[wire].refusal(401, `Incorrect API key provided: ${key}`))
    }
    await answer({ ...parsed, attempt }, stamp, response)
  }

  const embed = (
    embeddings: EmbeddingsRequest,
    body: unknown,
    { headers }: IncomingMessage,
    response: ServerResponse,
  ) => {
    const stamp = { n: ++received, run: null }
    log.add({ ...stamp, kind: 'received', model: embeddings.model, lastUserText: embeddings.texts.at(-1) ?? '', body })
    const key = wires.chat.key(headers)
    if (options.key !== undefined && key !== options.key) {
      log.add({ ...stamp, kind: 'refused', status: 401 })
      return sendBody(response, 401, wires.chat.refusal(401, `Incorrect API key provided: ${key}`))
    }
    response.once('close', () => !response.writableFinished && log.add({ ...stamp, kind: 'lost' }))
    const sent = sendEmbeddings(response, embeddings, options.embeddings ?? {})
    if (sent === 'answered' || sent === 'broken') log.add({ ...stamp, kind: sent, usage: null })
    else if (sent !== 'silent') log.add({ ...stamp, kind: 'refused', status: sent })
  }

  const answer = async (
    request: ProviderRequest,
    stamp: { n: number; run: string | null },
    response: ServerResponse,
  ) => {
    const disconnected = new Promise<undefined>((resolve) => response.once('close', () => resolve(undefined)))
    const reply = await Promise.race([options.answer(request), disconnected])
    if (reply === undefined || response.destroyed) return log.add({ ...stamp, kind: 'lost' })
    const { faults = {} } = reply
    if (faults.reset) {
      log.add({ ...stamp, kind: 'broken', usage: null })
      return response.socket?.resetAndDestroy()
    }
    if (faults.status) {
      const defaultBody = wires[request.wire].refusal(faults.status.code, `status ${faults.status.code}, as asked`)
      const { code, headers = {}, body = defaultBody } = faults.status
      log.add({ ...stamp, kind: 'refused', status: code })
      return sendBody(response, code, body, headers)
    }
    const counted = countTokens(request, reply)
    const { bytes, usageEnd } = replyBytes(request.wire, reply, reply.model ?? request.model, counted)
    const usage = faults.noUsage ? null : counted
    const isWhole = await sendReply(response, bytes, faults, clock, () =>
      log.add({ ...stamp, kind: 'answered', usage }),
    )
    if (isWhole) return
    const isOurs = faults.cutAt !== undefined
    if (isOurs) return log.add({ ...stamp, kind: 'broken', usage: (faults.cutAt ?? 0) >= usageEnd ? usage : null })
    log.add({ ...stamp, kind: 'lost' })
  }

  const receiving = new Set<Promise<unknown>>()
  const server = createServer((request, response) => {
    const received = receive(request, response)
      .catch((error) => {
        process.stderr.write(`provider: ${error instanceof Error ? error.stack : error}\n`)
        response.destroy()
      })
      .finally(() => receiving.delete(received))
    receiving.add(received)
  })
  // A connection closed while idle would look like a fault.
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
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      await Promise.all(receiving)
    },
  }
}

function wireAt(path: string): WireName | undefined {
  if (path === '/v1/chat/completions') return 'chat'
  if (path === '/v1/messages') return 'messages'
  if (path === '/v1/responses') return 'responses'
  return path.endsWith(':streamGenerateContent') ? 'gemini' : undefined
}

/** Answers requests other than completions: model lists and Ollama's API. */
function answerListing({ ollama, serves }: ProviderOptions, method: string, path: string, body: unknown): unknown {
  if (method === 'GET' && path === '/v1/models' && serves)
    return { object: 'list', data: serves.map((id) => ({ id, object: 'model' })) }
  return ollama && ollamaAnswer(ollama, method, path, body)
}

async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}

function sendBody(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
