import { basename, dirname } from 'node:path'
import type { Arena } from './arena.ts'
import { command, quoted } from './call.ts'
import type { ArenaKind } from './ground.ts'
import type { AttackClass, Try } from './try.ts'

const reached = 'REACHED-THE-DAEMON'

/** Says so when something answers at a path; the path is the shell variable `$t`. */
const connecting = [
  {
    name: 'node',
    script: `node -e 'require("net").connect(process.argv[1]).on("connect", function () { console.log("${reached}"); this.destroy() }).on("error", () => {})' "$t"`,
  },
  {
    name: 'perl',
    script: `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un($ARGV[0])) and print "${reached}\\n"' "$t"`,
  },
  { name: 'curl', script: `curl -sm 5 --unix-socket "$t" http://x/v1/health | grep -q pid && echo ${reached}` },
]

/** Ways to name the socket, as shell that sets `$t`. */
const naming = [
  { name: 'its path', script: (socket: string) => `t=${quoted(socket)}` },
  {
    name: 'a relative path',
    script: (socket: string) => `cd ${quoted(dirname(socket))}; t=${quoted(basename(socket))}`,
  },
  { name: '/proc/self/root', script: (socket: string) => `t=/proc/self/root${quoted(socket)}` },
  {
    name: 'a link',
    script: (socket: string, scratch: string) => `ln -s ${quoted(socket)} ${scratch}/s; t=${scratch}/s`,
  },
  {
    name: 'a hard link',
    script: (socket: string, scratch: string) => `ln ${quoted(socket)} ${scratch}/s; t=${scratch}/s`,
  },
  {
    name: 'another name of its directory',
    script: (socket: string, scratch: string) =>
      `mv ${quoted(dirname(socket))} ${scratch}/d; t=${scratch}/d/${quoted(basename(socket))}`,
  },
  {
    name: 'a search for sockets',
    script: (_: string, __: string, { paths }: Arena) =>
      `t=$(find ${quoted(paths.root)} /tmp /run -type s 2>/dev/null | head -1)`,
  },
  { name: 'the list of sockets', script: () => "t=$(grep -o '/[^ ]*heddle[^ ]*sock' /proc/net/unix | head -1)" },
  { name: 'an abstract name', script: (socket: string) => `t="@${socket}"` },
]

const arenas: ArenaKind[] = ['plain', 'inside', 'runtime', 'package']

const byConnecting: Try[] = arenas.flatMap((arena) =>
  naming.flatMap((way) =>
    connecting.map((program) => ({
      name: `${program.name} by ${way.name} (${arena})`,
      arena,
      calls: (here, { token }) => [[command(`${way.script(here.socket, `w/${token}`, here)}\n${program.script}`)]],
      judge: (results) => (results.some(({ text }) => text.includes(reached)) ? 'the socket was reached' : undefined),
    })),
  ),
)

/** A question waits; the same run tries to answer it over the socket and to get a grant for later ones. */
const byAnswering: Try[] = naming.map((way) => ({
  name: `a run that answers its own question by ${way.name}`,
  arena: 'runtime',
  act: async (arena, { token }) => {
    const path = `w/${token}/written-without-a-yes`
    const asked = await arena.attack([[{ name: 'write_file', input: { path, content: 'x' } }]])
    const [id] = asked.approvals
    if (id === undefined) throw new Error('writing a file asked nobody')
    const program = `
        const { request } = require('http')
        const send = (method, path, body, then) => request({ socketPath: process.argv[1], method, path,
          headers: { 'content-type': 'application/json' } }, (r) => { let t = ''; r.on('data', (d) => { t += d })
          r.on('end', () => then(JSON.parse(t))) }).on('error', () => {}).end(body && JSON.stringify(body))
        send('GET', '/v1/approvals', undefined, ({ approvals }) => {
          for (const { id, hash } of approvals) send('POST', '/v1/approvals/' + id, { answer: 'session', hash }, () => {})
        })`
    await arena.attack([[command(`${way.script(arena.socket, `w/${token}`, arena)}\nnode -e ${quoted(program)} "$t"`)]])
    return (await unanswered(arena, id)) ?? (await noGrants(arena))
  },
}))

async function unanswered(arena: Arena, id: number): Promise<string | undefined> {
  const { body } = await arena.http('GET', '/v1/approvals')
  const open = (body['approvals'] ?? []) as { id: number }[]
  return open.some((each) => each.id === id) ? undefined : `approval:${id} was answered, and not by a person`
}

export async function noGrants(arena: Arena): Promise<string | undefined> {
  const { body } = await arena.http('GET', '/v1/grants')
  return ((body['grants'] ?? []) as unknown[]).length === 0 ? undefined : 'there is a grant that nobody gave'
}

/** The daemon's socket, from inside the sandbox. */
export const sockets: AttackClass = {
  name: 'sockets',
  about: "the daemon's socket, reached or replaced by a command",
  tries: [...byConnecting, ...byAnswering],
  controls: [
    {
      name: 'the same program outside of the sandbox reaches the socket',
      arena: 'plain',
      act: async (arena) => {
        const { text } = await arena.owner(`t=${quoted(arena.socket)}\n${connecting[0]?.script}`)
        return text.includes(reached) ? 'reached' : undefined
      },
    },
    {
      name: 'an answer that the owner gives is seen',
      arena: 'runtime',
      act: async (arena, { token }) => {
        const input = { path: `w/${token}/a`, content: 'x' }
        const [id = 0] = (await arena.attack([[{ name: 'write_file', input }]])).approvals
        await arena.http('POST', `/v1/approvals/${id}`, { answer: 'no' })
        return unanswered(arena, id)
      },
    },
  ],
  work: [
    {
      name: "a command's own socket in the folder works",
      arena: 'plain',
      act: async (arena, { token }) => {
        const script = `const n = require('net'); const s = n.createServer((c) => c.end()).listen('w/${token}/own', () => n.connect('w/${token}/own').on('close', () => { console.log('fine'); s.close() }).resume())`
        const { results } = await arena.attack([[command(`node -e ${quoted(script)}`)]])
        return results[0]?.text.includes('fine') ? undefined : JSON.stringify(results)
      },
    },
  ],
}
