import { mkdirSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import type { Arena } from './arena.ts'
import type { Call } from './call.ts'
import type { AttackClass, Try } from './try.ts'

const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype']
const odd = [...names, '', '\u0000', 'a\nb', '\ud800', '../../etc/passwd', '%00', "' OR 1=1 --", 'x'.repeat(150), '🙈']

/** Hostile values of a field of `POST /v1/inputs`; the rest of the body is in order. */
const values: Record<string, unknown[]> = {
  model: odd,
  agent: [...odd, '@../x', 'general\n'],
  session: [...odd, 'result:1', 'join:1', 'agent:x:subagent:y', 'x'.repeat(200)],
  from: [...odd, 'turn:__proto__', 'session:__proto__', 'turn:1e9'],
  dedupeKey: [...odd.filter((value) => value !== ''), 'result:1', 'join:1', 'wake:1'],
  kind: [...names, 1, null],
  priority: [1e308, -1e308, 'NaN', {}, 1.5],
  timeoutSeconds: [0, -1, 1e-9, 1e308, '1'],
  thinking: [{ level: '__proto__' }, [], { level: 'high', __proto__: null }],
  parts: [
    [{ type: 'file', path: '../../etc/passwd', mediaType: 'text/plain', data: 'eA==' }],
    [{ type: 'file', path: 'a\u0000b', mediaType: 'text/plain\r\nX: y', data: '%%%' }],
    [{ type: 'image', mediaType: '__proto__', data: 'eA==' }],
  ],
  attended: [names[0], 1],
  content: ['\u0000', '\ud800', 'x'.repeat(1_000_000), '\u001b[2J'],
}

/** The daemon may refuse or take it, but must not fail at it, log a stack or stop. */
async function withoutFault(arena: Arena, send: () => Promise<number>): Promise<string | undefined> {
  const status = await send()
  if (status >= 500) return `the daemon answers ${status}`
  if (!(await arena.isAlive())) return 'the daemon no longer answers'
  return /"level":"error"/.test(arena.logged())
    ? `the daemon logs an error: ${arena.logged().slice(0, 300)}`
    : undefined
}

const byValue: Try[] = Object.entries(values).flatMap(([field, list]) =>
  list.map((value) => ({
    name: `${field} = ${JSON.stringify(value).slice(0, 60)}`,
    arena: 'plain',
    act: (arena: Arena) =>
      withoutFault(arena, async () => {
        const { folder } = arena.paths
        const body = { folder, session: 'fields', content: 'hello', agent: 'general', [field]: value }
        const { status, body: said } = await arena.http('POST', '/v1/inputs', body)
        if (status === 202) await arena.answerTo(String(said['itemId']))
        return status
      }),
  })),
)

const bodies: [string, string][] = [
  ['no JSON', '{'],
  ['an array', '[]'],
  ['null', 'null'],
  ['__proto__ as a key', '{"__proto__":{"folder":"/"},"content":"x"}'],
  ['a hundred thousand brackets', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ['the same key twice', '{"folder":"/","folder":"/proc","session":"a","content":"x"}'],
]

const byBody: Try[] = bodies.map(([name, body]) => ({
  name: `a body that is ${name}`,
  arena: 'plain',
  act: (arena) => withoutFault(arena, async () => (await arena.http('POST', '/v1/inputs', body)).status),
}))

const routes = [
  ...names.flatMap((name) => [`/v1/runs/${name}`, `/v1/plans/${name}`, `/v1/inputs/${name}/answer?folder=/tmp`]),
  ...[
    '/v1/approvals',
    '/v1/runs/%00',
    '/v1/runs/..%2f..',
    '/v1/plans/99999999999999999999',
    '/v1/tasks?status=__proto__',
  ],
  ...['/v1/usage?by=__proto__', '/v1/events?after=__proto__', '/v1/status?folder=%00&since=1e999', '//', '/v1/%'],
]

const byRoute: Try[] = routes
  .filter((route) => !route.includes('/events'))
  .map((route) => ({
    name: `GET ${route}`,
    arena: 'plain',
    act: (arena) => withoutFault(arena, async () => (await arena.http('GET', route)).status),
  }))

const hangingUp: Try = {
  name: 'a client that hangs up in the middle of a body',
  arena: 'plain',
  act: (arena) =>
    withoutFault(arena, async () => {
      await new Promise<void>((resolve) => {
        const sent = request({
          socketPath: arena.socket,
          method: 'POST',
          path: '/v1/inputs',
          headers: { 'content-type': 'application/json', 'content-length': 1000 },
        })
        sent.on('error', () => resolve())
        sent.write('{"folder":', () => setImmediate(() => sent.destroy(new Error('left'))))
      })
      // Its answer comes after whatever the daemon does about the other client.
      for (let n = 0; n < 5; n++) await arena.http('GET', '/v1/health')
      return 200
    }),
}

/** Folders that nobody works in; the call would read a secret from there. */
const folders: [string, (arena: Arena) => string][] = [
  ['/', () => '/'],
  ['//', () => '//'],
  ['/.', () => '/.'],
  ['/tmp/..', () => '/tmp/..'],
  ['/proc', () => '/proc'],
  ['/proc/self/root', () => '/proc/self/root'],
  ['/proc/self/cwd', () => '/proc/self/cwd'],
  ['/dev', () => '/dev'],
  ['/sys', () => '/sys'],
  ['the home of heddle', ({ paths }) => paths.home],
  ['a directory in the home of heddle', ({ paths }) => join(paths.home, 'run')],
  ["the owner's home directory", ({ paths }) => paths.user],
  ['a directory that holds the home of heddle and the owner', ({ paths }) => paths.root],
  [
    'a link to /',
    ({ paths }) => {
      mkdirSync(join(paths.root, 'links'), { recursive: true })
      const link = join(paths.root, 'links/root')
      symlinkSync('/', link)
      return link
    },
  ],
]

const byFolder: Try[] = folders
  // Working in a parent of both homes is allowed: what heddle trusts is hidden there.
  .filter(([name]) => !name.startsWith('a directory that holds'))
  .map(([name, of]) => ({
    name: `folder = ${name}`,
    arena: 'plain',
    async act(arena) {
      const body = { folder: of(arena), session: 'folders', content: 'hello', agent: 'general' }
      const { status, body: said } = await arena.http('POST', '/v1/inputs', body)
      return status === 202 ? `it is taken as a folder to work in (${JSON.stringify(said)})` : undefined
    },
  }))

/** Inputs of tools that are not what the tool expects. */
const inputs: Call[] = [
  ...[5, null, {}, [], '', '\u0000', 'a\u0000b', '\ud800', 'x/'.repeat(5000), '__proto__', '~/.ssh', '$HOME'].flatMap(
    (path) => ['read_file', 'write_file', 'list_dir'].map((name) => ({ name, input: { path, content: 'x' } })),
  ),
  ...['/', '..', '../outside', '/proc/self/cwd/..', 'links/directory-0', '\u0000', 5].map((cwd) => ({
    name: 'exec',
    input: { command: 'cat secret.txt; pwd', cwd },
  })),
  ...[-1, 0, 1e9, '5', null].map((seconds) => ({ name: 'exec', input: { command: ':', timeout_seconds: seconds } })),
  ...[null, 'x', [], 5].map((input) => ({ name: 'exec', input })),
  ...names.map((name) => ({ name, input: {} })),
  ...['EXEC', 'exec ', 'Bash', 'plan_tasks', 'approve', 'decide'].map((name) => ({ name, input: { command: 'id' } })),
  { name: 'exec', input: { command: 'id', sandbox: 'off', network: true, __proto__: { sandbox: 'off' } } },
]

const byInput: Try[] = inputs.map((call) => ({
  name: `${call.name} with ${JSON.stringify(call.input).slice(0, 70)}`,
  arena: 'plain',
  async act(arena) {
    const { status } = await arena.attack([[call]])
    if (status !== 'completed' && status !== 'failed') return `the request does not end: ${status}`
    return withoutFault(arena, async () => 200)
  },
}))

/** A key that the engine uses itself, taken by somebody outside while a child is still at work. */
const takenKeys: Try[] = ['result', 'join', 'wake', 'narrative'].map((kind) => ({
  name: `dedupeKey = ${kind}:ID of a child that is at work`,
  arena: 'plain',
  async act(arena, { token }) {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const [parent, child] = [`${token}a`, `${token}b`]
    arena.attacker.obey(child, [], held)
    arena.attacker.obey(parent, [[{ name: 'sessions_spawn', input: { task: `attack:${child}` } }]])
    await arena.submit(`attack:${parent}`)
    const asked = await arena.provider.until(
      (line) => line.kind === 'received' && line.lastUserText.includes(`attack:${child}`),
    )
    // The header holds the run, its epoch and the number of the call.
    const [run = ''] = asked.run?.split('/') ?? []
    const { folder } = arena.paths
    const body = { folder, session: 'keys', content: 'hello', agent: 'general', dedupeKey: `${kind}:${run}` }
    await arena.http('POST', '/v1/inputs', body)
    release()
    return (await hasEnded(arena, run)) ? undefined : `run:${run} never ends`
  },
}))

/** Whether a run ends within a time that is long for one that has nothing left to do. */
async function hasEnded(arena: Arena, run: string): Promise<boolean> {
  const until = Date.now() + 60_000
  while (Date.now() < until) {
    const { status, body } = await arena.http('GET', `/v1/runs/${run}`)
    if (status !== 200) throw new Error(`run:${run} cannot be looked at: ${JSON.stringify(body)}`)
    if (/completed|failed|cancelled|timeout/.test(String(body['state']))) return true
    await arena.http('GET', '/v1/health')
  }
  return false
}

/** Data from outside, field by field. */
export const fields: AttackClass = {
  name: 'fields',
  about: 'hostile values in requests, paths, folders, keys and tool inputs',
  tries: [...byValue, ...byBody, ...byRoute, hangingUp, ...byFolder, ...byInput, ...takenKeys],
  controls: [
    {
      name: 'an answer of 500 is seen',
      arena: 'plain',
      act: (arena) => withoutFault(arena, async () => 500),
    },
    {
      name: 'a daemon that is gone is seen',
      arena: 'plain',
      act: async (arena) => {
        await arena.stop('SIGKILL')
        return withoutFault(arena, async () => 200)
      },
    },
  ],
  work: [
    {
      name: 'an ordinary request with every field is taken and answered',
      arena: 'plain',
      act: async (arena) => {
        const { folder } = arena.paths
        const body = { folder, session: 'fine', content: 'hello', agent: 'general', dedupeKey: 'mine:1', priority: 5 }
        const { status, body: said } = await arena.http('POST', '/v1/inputs', body)
        const ended = await arena.answerTo(String(said['itemId']))
        return status === 202 && ended.status === 'completed' ? undefined : JSON.stringify({ said, ended })
      },
    },
  ],
}
