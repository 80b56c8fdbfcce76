import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serve } from '../../src/gateway/server.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { ensurePackages } from '../setup/packages.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'
import { send, signedIn, webSettings } from './web-client.ts'

let gateway: TestGateway
let url: string
beforeAll(async () => {
  ensurePackages(['prometheus'])
  gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))], { web: webSettings })
  url = gateway.server.url ?? ''
}, 300_000)
afterAll(() => gateway.remove())

test('who has no token learns whether the daemon lives and works, and nothing else', async () => {
  expect(await send(url, '/healthz')).toMatchObject({ status: 200, text: 'ok\n' })
  expect(await send(url, '/readyz')).toMatchObject({ status: 200, text: 'ok\n' })
})

test.each([
  ['whose worker lost its lease', async () => false],
  ['whose database fails', async () => Promise.reject(new Error('no connection'))],
])('a daemon %s is not ready, and lives', async (_, isReady) => {
  const server = await serve(
    { ...gateway.app, isReady },
    {
      runFolder: `${gateway.runFolder}/..`,
      health: { pid: 1, version: '0', since: '2026-01-01T00:00:00.000Z' },
      clock: systemClock,
      onError: () => undefined,
      web: webSettings,
    },
  )
  expect(await send(server.url ?? '', '/readyz')).toMatchObject({ status: 503, text: 'not ready\n' })
  expect(await send(server.url ?? '', '/healthz')).toMatchObject({ status: 200 })
  await server.stop()
})

test('the metrics are what promtool accepts, and tell of runs, spending, commits, calls, events and streams', async () => {
  const { door, app } = gateway
  const { itemId } = await door.submit(folder, { session: 'main', content: 'hello' })
  await door.answer(folder, itemId, new AbortController().signal)
  const cookie = await signedIn(app, url)
  const { status, headers, text } = await send(url, '/metrics', { headers: { cookie } })
  expect({ status, type: headers['content-type'] }).toEqual({
    status: 200,
    type: 'text/plain; version=0.0.4; charset=utf-8',
  })
  const {
    status: code,
    stdout,
    stderr,
  } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' })
  for (const line of [
    /^heddle_runs\{state="queued"\} 0$/m,
    /^heddle_runs_ended_total\{state="completed"\} 1$/m,
    /^heddle_today_tokens\{kind="input"\} [1-9]\d*$/m,
    /^heddle_events_total\{kind="run\.ended"\} 1$/m,
    /^heddle_commit_duration_seconds_count [1-9]\d*$/m,
    /^heddle_model_call_duration_seconds_count\{model="[^"]+"\} 1$/m,
    /^heddle_stream_clients 0$/m,
    /^heddle_http_answers_total\{status="200"\} [1-9]\d*$/m,
    /^process_resident_memory_bytes [1-9]\d{6,}$/m,
  ])
    expect(text).toMatch(line)
})

test('the metrics are for admins and the owner', async () => {
  const { app } = gateway
  await app.addUser('mia', { folder: '/tmp', role: 'operator' })
  await app.addUser('ada', { folder: '/tmp', role: 'admin' })
  const status = async (user: string, path: string) => {
    const { token } = await app.createToken(user, { scopes: ['read'] })
    return (await send(url, path, { headers: { authorization: `Bearer ${token}` } })).status
  }
  expect(await Promise.all(['/metrics', '/v1/metrics'].map((path) => status('mia', path)))).toEqual([403, 403])
  expect(await Promise.all(['/metrics', '/v1/metrics'].map((path) => status('ada', path)))).toEqual([200, 200])
})
