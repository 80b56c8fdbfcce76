import { expect, onTestFinished, test } from 'vitest'
import type { Heddle } from '../../src/api/heddle.ts'
import { type Server, serve } from '../../src/gateway/server.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'
import { folder, newGateway } from './gateway.ts'
import { webSettings } from './web-client.ts'

const draft = { query: [{ content: 'q' }], response: { content: 'a' } }

/** Reads a stream of events over TCP into a list, until the daemon goes; resolves with the last cursor. */
async function follow(url: string, token: string, after: string | undefined, heard: string[]): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, ...(after !== undefined && { 'last-event-id': after }) }
  const response = await fetch(`${url}/v1/events`, { headers })
  let text = ''
  try {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const [, id] = /^id: (.+)$/m.exec(block) ?? []
        if (id !== undefined) heard.push(id)
      }
    }
  } catch {
    // The daemon went in the middle of a piece.
  }
}

test('a stream over TCP that changes from daemon to daemon while events happen has each of them once and in order', async () => {
  const gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))], { web: webSettings })
  onTestFinished(() => gateway.remove())
  const { app, server } = gateway
  const { token } = await app.createToken(null)
  const port = Number(new URL(server.url ?? '').port)
  const start = (heddle: Heddle): Promise<Server> =>
    serve(heddle, {
      runFolder: gateway.runFolder,
      health: { pid: process.pid, version: '0', since: '2026-01-01T00:00:00.000Z' },
      clock: systemClock,
      onError: () => undefined,
      web: { ...webSettings, port, allowOtherPort: false },
    })
  const heard: string[] = []
  let isOver = false
  const writing = (async () => {
    for (let n = 0; !isOver; n++) await app.append(folder, { session: `s${n % 3}`, draft })
  })()
  let current = server
  for (let change = 0; change < 4; change++) {
    const before = heard.length
    const following = follow(current.url ?? '', token, heard.at(-1), heard)
    await untilSo(() => heard.length > before + 5)
    await current.stop()
    await following
    current = await start(app)
  }
  onTestFinished(() => current.stop())
  isOver = true
  await writing
  const last = (await app.cursor()) ?? ''
  void follow(current.url ?? '', token, heard.at(-1), heard)
  await untilSo(() => heard.at(-1) === last)
  const all: string[] = []
  for (let page = await app.events({ limit: 1000 }); page.length > 0; ) {
    all.push(...page.map(({ cursor }) => cursor))
    page = await app.events({ limit: 1000, after: all.at(-1) ?? '' })
  }
  expect(heard).toEqual(all)
})
