import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { send } from '../gateway/web-client.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

vi.setConfig({ testTimeout: 120_000 })

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

test('open prints a link that signs a browser in, and neither the log nor any address holds a secret', async () => {
  const daemon = heddle.start('up')
  await daemon.says('running')
  const { url, expiresAt } = await heddle.json<{ url: string; expiresAt: string }>('open', '--print')
  const [address = '', code = ''] = url.split('#')
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/welcome\?in=%2F/)
  expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now())
  const { origin } = new URL(url)
  const signed = await send(origin, '/v1/sign-in', { method: 'POST', headers: { origin }, body: { code } })
  const cookie = signed.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const { token } = await heddle.json<{ token: string }>('tokens', 'create', '--owner')
  const wrong = 'hdl_canary-that-nobody-has'
  for (const headers of [{ cookie }, { authorization: `Bearer ${token}` }, { authorization: `Bearer ${wrong}` }])
    await send(origin, `/v1/me?token=${wrong}`, { headers })
  await send(origin, '/v1/nothing', { headers: { cookie } })
  await send(origin, '/v1/sign-in', { method: 'POST', headers: { origin }, body: { code } })
  expect(await send(origin, '/v1/me', { headers: { cookie } })).toMatchObject({ status: 200 })
  daemon.stop('SIGTERM')
  const { out, err } = await daemon.ended
  for (const secret of [code, cookie.split('=')[1] ?? '', token, wrong]) {
    expect(secret.length).toBeGreaterThan(20)
    expect(out + err).not.toContain(secret)
  }
})

test('open starts a daemon that is not up, and says how to end it', async () => {
  const { code, err } = await heddle.runWith({ isProcess: true }, 'open', '--print')
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('stop it with: heddle down;') })
  const { daemon } = await heddle.json<{ daemon: number }>('status')
  expect(await heddle.json('down')).toEqual({ ok: true, pid: daemon, runs: 0 })
  expect(await heddle.json('status')).toMatchObject({ daemon: null })
})

test('a home without a page says so, and starts no daemon for it', async () => {
  writeFileSync(join(heddle.home, '..', 'none.yaml'), 'http: { enabled: false }\n')
  const said = await heddle.run('--config', join(heddle.home, '..', 'none.yaml'), 'open')
  expect(said).toMatchObject({ code: 1, err: expect.stringContaining('set http.enabled: true') })
})

test('up says which port is taken, and goes without a page when it is told to', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  expect(await heddle.run('up', '--port', String(port))).toMatchObject({
    code: 1,
    err: expect.stringContaining(`port ${port} of 127.0.0.1 is taken`),
  })
  expect(await heddle.run('up', '--port', '99999')).toMatchObject({
    code: 2,
    err: expect.stringContaining('is not a port'),
  })
  other.close()
  const daemon = heddle.start('up', '--no-http')
  await daemon.says('running')
  expect(await heddle.run('open', '--print')).toMatchObject({ code: 1, err: expect.stringContaining('serves no page') })
  daemon.stop('SIGTERM')
  await daemon.ended
})
