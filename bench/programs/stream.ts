import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// A provider that answers every request with the same stream, prepared once, so that it takes no part of what is
// measured: a process of its own, since work in the measuring one would count for both sides. Prints its address.
const words = Array.from({ length: 300 }, (_, number) => `word${number} `)

const event = (data: unknown, name?: string) =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

function chat(): string {
  const common = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const choice = (delta: object, reason: string | null = null) =>
    event({ ...common, choices: [{ index: 0, delta, finish_reason: reason }] })
  const usage = { prompt_tokens: 500, completion_tokens: words.length, total_tokens: 500 + words.length }
  return [
    choice({ role: 'assistant', content: '' }),
    ...words.map((content) => choice({ content })),
    choice({}, 'stop'),
    event({ ...common, choices: [], usage }),
    'data: [DONE]\n\n',
  ].join('')
}

function messages(): string {
  const named = (data: { type: string; [key: string]: unknown }) => event(data, data.type)
  const usage = { input_tokens: 500, output_tokens: 0 }
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage }
  return [
    named({ type: 'message_start', message }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...words.map((text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    named({ type: 'content_block_stop', index: 0 }),
    named({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: words.length },
    }),
    named({ type: 'message_stop' }),
  ].join('')
}

const bodies = { '/v1/chat/completions': Buffer.from(chat()), '/v1/messages': Buffer.from(messages()) }
const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(bodies[request.url as keyof typeof bodies])
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1\n`)
})
process.on('disconnect', () => process.exit())
