import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { scriptedModel } from '../../src/testing.ts'
import { newGateway, type TestGateway } from '../gateway/gateway.ts'
import { webSettings } from '../gateway/web-client.ts'
import { runInProcess } from './in-process.ts'

const root = mkdtempSync(join(tmpdir(), 'heddle-remote-'))
const home = join(root, 'home')
let gateway: TestGateway
let url: string
let token: string

beforeAll(async () => {
  gateway = await newGateway([scriptedModel(() => ({ text: 'from afar' }))], { web: webSettings })
  url = gateway.server.url ?? ''
  await gateway.app.addUser('mia', { folder: '/tmp', role: 'operator' })
  ;({ token } = await gateway.app.createToken('mia'))
})
afterAll(async () => {
  await gateway.remove()
  rmSync(root, { recursive: true })
})

const run = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  runInProcess(args, { env: { HOME: root, HEDDLE_HOME: home, ...env }, cwd: root, input: '' })

test('a command with --host and a token asks the heddle there, with the rights of the token, and makes no home here', async () => {
  const asked = await run(['--host', url, '--token', token, 'ask', 'hello', '--json'])
  expect(JSON.parse(asked.out)).toMatchObject({ status: 'completed', text: 'from afar', session: 'user:mia:main' })
  const env = { HEDDLE_HOST: url, HEDDLE_TOKEN: token }
  expect((await run(['log'], env)).out).toContain('hello')
  expect(await run(['memory'], env)).toMatchObject({ code: 1, err: expect.stringContaining('may not do this') })
  expect((await run(['sessions'], env)).out).toContain('main')
  expect(existsSync(home)).toBe(false)
})

test.each([
  [['--host', 'URL', 'log'], {}, 2, /needs a token\n {2}→ make one there/],
  [['--host', 'URL', 'log'], { HEDDLE_TOKEN: 'hdl_nobody' }, 1, /no user has this token/],
  [['--host', 'nowhere', 'log'], {}, 2, /is not the address of a heddle/],
  [
    ['--host', 'http://127.0.0.1:1', '--token', 'x', 'log'],
    {},
    1,
    /cannot reach http:\/\/127.0.0.1:1: nothing listens there/,
  ],
  [
    ['--host', 'http://no-such-host.invalid', '--token', 'x', 'log'],
    {},
    1,
    /cannot reach http:\/\/no-such-host.invalid/,
  ],
  [['--host', 'https://127.0.0.1:PORT', '--token', 'x', 'log'], {}, 1, /is it http:\/\/ or https:\/\//],
  [['--host', 'URL', '--token', 'x', 'doctor'], {}, 2, /works on files of this machine/],
  [['config', 'show'], { HEDDLE_HOST: 'http://127.0.0.1:1' }, 2, /leave out --host and HEDDLE_HOST/],
] as const)('%j says what is wrong', async (args, env, code, words) => {
  const { port } = new URL(url)
  const said = await run(
    args.map((arg) => arg.replace('URL', url).replace('PORT', port)),
    env,
  )
  expect(said).toMatchObject({ code, err: expect.stringMatching(words) })
})

test('something else than a heddle at that address is told apart', async () => {
  const other = createServer((socket) => socket.end('SSH-2.0-x\r\n')).listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  const said = await run(['--host', `http://127.0.0.1:${port}`, '--token', 'x', 'log'])
  expect(said).toMatchObject({ code: 1, err: expect.stringMatching(/did not answer as expected|cannot reach/) })
  other.close()
})

test('with TLS a certificate that nobody vouches for is refused, and one that is known is taken', async () => {
  const [cert, key] = [join(root, 'cert.pem'), join(root, 'key.pem')]
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-keyout', key, '-out', cert, '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'],
  ])
  expect(made.status).toBe(0)
  const tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  const secure = await newGateway([], { web: { ...webSettings, tls } })
  const own = await secure.app.createToken(null)
  const address = secure.server.url ?? ''
  expect(address).toMatch(/^https:/)
  expect(await run(['--host', address, '--token', own.token, 'sessions'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not trusted'),
  })
  // Node reads the list of trusted authorities once, when a process starts.
  const bin = join(import.meta.dirname, '../../bin/heddle')
  const env = { ...process.env, HEDDLE_HOME: home, NODE_EXTRA_CA_CERTS: cert, HEDDLE_TOKEN: own.token }
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, [bin, '--host', address, 'sessions', '--json'], { env }, (_, out) => resolve(out))
  })
  expect(JSON.parse(said)).toMatchObject({ sessions: [] })
  await secure.remove()
})
