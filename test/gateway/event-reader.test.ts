import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { readSseMessages } from '../../src/gateway/event-reader.ts'

let server: Server
afterEach(() => new Promise<void>((resolve) => void server.close(() => resolve())))

type SseMessage = { event: string; data: string }

/** Messages that arrive in these pieces; `error` when the connection broke instead of ending. */
async function messagesOf(pieces: (string | Buffer)[], { breaks = false } = {}) {
  const response = await responseOf(pieces, breaks)
  const messages: SseMessage[] = []
  try {
    for await (const message of readSseMessages(response)) messages.push(message)
  } catch (error) {
    return { messages, error }
  }
  return { messages }
}

async function responseOf(pieces: (string | Buffer)[], breaks: boolean): Promise<IncomingMessage> {
  server = createServer(async (_, response) => {
    for (const piece of pieces) await new Promise<void>((resolve) => void response.write(piece, () => resolve()))
    if (breaks) response.destroy()
    else response.end()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return await new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, agent: false }, resolve).once('error', reject).end()
  })
}

const both = [
  { event: 'message', data: '1' },
  { event: 'live', data: '2' },
]

test('a field needs no space behind its colon', async () => {
  expect(await messagesOf(['data:1\n\nevent:live\ndata:2\n\n'])).toEqual({ messages: both })
})

test.each([
  ['line feeds', '\n'],
  ['carriage returns with line feeds', '\r\n'],
  ['carriage returns', '\r'],
])('lines end with %s', async (_, end) => {
  const text = ['data: 1', '', 'event: live', 'data: 2', '', ''].join(end)
  expect(await messagesOf([text])).toEqual({ messages: both })
})

test('pieces break anywhere, even between the two characters of a line end and within a letter', async () => {
  const bytes = Buffer.from('data: Größe\r\n\r\n')
  const pieces = Array.from(bytes, (byte) => Buffer.of(byte))
  expect(await messagesOf(pieces)).toEqual({ messages: [{ event: 'message', data: 'Größe' }] })
})

test('several data lines are one message; comments, other fields and empty messages are none', async () => {
  const text = ': beat\n\nid: 7\ndata: a\ndata: b\n\ndata:\n\nevent: live\n\nretry: 5\n\n'
  expect(await messagesOf([text])).toEqual({ messages: [{ event: 'message', data: 'a\nb' }] })
})

test('a message that the end of the stream cuts off is not told', async () => {
  expect(await messagesOf(['data: 1\n\ndata: 2\n'])).toEqual({ messages: [{ event: 'message', data: '1' }] })
})

test('a connection that breaks throws after the messages that came whole', async () => {
  const { messages, error } = await messagesOf(['data: 1\n\ndata: 2'], { breaks: true })
  expect(messages).toEqual([{ event: 'message', data: '1' }])
  expect(error).toBeInstanceOf(Error)
})
