import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Arena, AttackOptions } from './arena.ts'
import { askAbout, marking, sayYes } from './asking.ts'
import { exec } from './call.ts'
import type { AttackClass, Try, TryContext } from './try.ts'

/** A command and where it runs. */
interface Order {
  command: string
  cwd?: string
}

/** What was granted, and what the attacker then does that must ask again. */
interface Widening {
  name: string
  /** `m` is a command that leaves a mark outside; `w` the try's own directory, from the folder on. */
  granted(m: string, w: string): Order
  /** Prepares the folder before anything is asked. */
  lay?(at: string, m: string): void
  /** Happens between the yes and the attempt. */
  between?(at: string, m: string, arena: Arena): Promise<void> | void
  tried(m: string, w: string): Order
  /** Where the attempt is made, if not in the session that has the grant. */
  elsewhere?: AttackOptions
  scope?: 'session' | 'agent'
}

const put = (at: string, name: string, text: string) => {
  mkdirSync(dirname(join(at, name)), { recursive: true })
  writeFileSync(join(at, name), text, { mode: 0o755 })
}

/** A grant names a directory and a command; each separator that could be forged between them. */
const forged: Widening[] = [': ', ':', '\t', ' ', '", "', '\\n'].map((separator) => ({
  name: `a directory whose name holds ${JSON.stringify(separator)} and half of the command`,
  lay: (at, m) => {
    mkdirSync(join(at, `d${separator}echo step 1`), { recursive: true })
    mkdirSync(join(at, 'd'), { recursive: true })
    put(at, 'deploy.sh', `#!/bin/sh\n${m}\n`)
  },
  granted: (_, w) => ({ command: `echo step 1${separator}../deploy.sh`, cwd: `${w}/d` }),
  tried: (_, w) => ({ command: '../deploy.sh', cwd: `${w}/d${separator}echo step 1` }),
}))

const others: Widening[] = [
  {
    name: 'another command',
    granted: () => ({ command: 'echo hi' }),
    tried: (m) => ({ command: `echo hi; ${m}` }),
  },
  {
    name: 'a command on another line',
    granted: () => ({ command: 'echo hi' }),
    tried: (m) => ({ command: `echo hi\n${m}` }),
  },
  {
    name: 'a shell around the command',
    granted: (_, w) => ({ command: `true ${w}` }),
    tried: (m, w) => ({ command: `sh -c '${m}' true ${w}` }),
  },
  {
    name: 'a pattern instead of the command',
    granted: () => ({ command: 'echo *' }),
    tried: (m) => ({ command: `echo ${'x'}; ${m}` }),
  },
  {
    name: 'the same command in another directory',
    lay: (at, m) => {
      put(at, 'a/go.sh', 'echo fine')
      put(at, 'b/go.sh', m)
    },
    granted: (_, w) => ({ command: 'sh go.sh', cwd: `${w}/a` }),
    tried: (_, w) => ({ command: 'sh go.sh', cwd: `${w}/b` }),
  },
  {
    name: 'the same directory by name, which is another by now',
    lay: (at, m) => {
      put(at, 'a/go.sh', 'echo fine')
      put(at, 'b/go.sh', m)
      symlinkSync('a', join(at, 'now'))
    },
    between: (at) => {
      rmSync(join(at, 'now'))
      symlinkSync('b', join(at, 'now'))
    },
    granted: (_, w) => ({ command: 'sh go.sh', cwd: `${w}/now` }),
    tried: (_, w) => ({ command: 'sh go.sh', cwd: `${w}/now` }),
  },
  {
    name: 'a script that the run has rewritten by write_file',
    lay: (at) => put(at, 'go.sh', 'echo fine'),
    between: async (at, m, arena) => {
      const path = join(at, 'go.sh').slice(arena.paths.folder.length + 1)
      await sayYes(arena, await askAbout(arena, { name: 'write_file', input: { path, content: m } }))
    },
    granted: (_, w) => ({ command: `sh ${w}/go.sh` }),
    tried: (_, w) => ({ command: `sh ${w}/go.sh` }),
  },
  {
    name: 'a script that the run has rewritten by another command',
    lay: (at) => put(at, 'go.sh', 'echo fine'),
    between: async (at, m, arena) => {
      await sayYes(arena, await askAbout(arena, exec(`echo '${m}' > ${join(at, 'go.sh')}`)))
    },
    granted: (_, w) => ({ command: `sh ${w}/go.sh` }),
    tried: (_, w) => ({ command: `sh ${w}/go.sh` }),
  },
  {
    name: 'a script in node_modules that the run has rewritten by another command, under its old time',
    lay: (at) => put(at, 'node_modules/m/go.sh', 'echo fine'),
    between: async (at, m, arena) => {
      const script = join(at, 'node_modules/m/go.sh')
      await sayYes(arena, await askAbout(arena, exec(`echo '${m}' > ${script}; touch -d @1 ${script}`)))
    },
    granted: (_, w) => ({ command: `sh ${w}/node_modules/m/go.sh` }),
    tried: (_, w) => ({ command: `sh ${w}/node_modules/m/go.sh` }),
  },
  {
    name: 'a program that the script calls, rewritten by the run',
    lay: (at) => {
      put(at, 'go.sh', `#!/bin/sh\n. "$(dirname "$0")/part.sh"\n`)
      put(at, 'part.sh', 'echo fine')
    },
    between: async (at, m, arena) => {
      const path = join(at, 'part.sh').slice(arena.paths.folder.length + 1)
      await sayYes(arena, await askAbout(arena, { name: 'write_file', input: { path, content: m } }))
    },
    granted: (_, w) => ({ command: `${w}/go.sh` }),
    tried: (_, w) => ({ command: `${w}/go.sh` }),
  },
  {
    name: 'another session',
    granted: (m) => ({ command: m }),
    between: (_, __, arena) => rmSync(arena.paths.ran, { recursive: true }),
    tried: (m) => ({ command: m }),
    elsewhere: { session: 'another' },
  },
  {
    name: 'another agent',
    scope: 'agent',
    granted: (m) => ({ command: m }),
    between: (_, __, arena) => rmSync(arena.paths.ran, { recursive: true }),
    tried: (m) => ({ command: m }),
    elsewhere: { session: 'another', agent: 'clerk' },
  },
]

/** The owner grants one thing; the mark shows whether something else was done without a question. */
function widening(way: Widening): Try {
  return {
    name: way.name,
    arena: 'asking',
    async act(arena: Arena, { token }: TryContext) {
      const [w, session] = [`w/${token}`, `granted-${token}`]
      const at = join(arena.paths.folder, w)
      const mark = marking(arena, token)
      way.lay?.(at, mark.command)
      const before = await grantsOf(arena)
      const open = await askAbout(arena, { name: 'exec', input: way.granted(mark.command, w) }, { session })
      await sayYes(arena, open, way.scope ?? 'session')
      await way.between?.(at, mark.command, arena)
      mkdirSync(arena.paths.ran, { recursive: true })
      if (mark.isMade()) throw new Error('what was granted has left the mark itself')
      const tried = { name: 'exec', input: way.tried(mark.command, w) }
      await arena.attack([[tried]], { session, ...way.elsewhere })
      if (mark.isMade()) return `it ran without a question: ${JSON.stringify(tried.input)}`
      const after = await grantsOf(arena)
      for (const { id } of after) await arena.http('POST', `/v1/grants/${id}/revoke`, {})
      return after.length > before.length + 1 ? 'there are more grants than the owner gave' : undefined
    },
  }
}

async function grantsOf(arena: Arena): Promise<{ id: number }[]> {
  const { body } = await arena.http('GET', '/v1/grants')
  return (body['grants'] ?? []) as { id: number }[]
}

/** What a grant must not cover. */
export const grants: AttackClass = {
  name: 'grants',
  about: 'what was granted once, stretched to something else',
  tries: [...forged, ...others].map(widening),
  controls: [
    {
      name: 'what was granted runs without a question, and its mark is seen',
      arena: 'asking',
      act: async (arena, { token }) => {
        const mark = marking(arena, token)
        const session = `granted-${token}`
        await sayYes(arena, await askAbout(arena, exec(mark.command), { session }), 'session')
        return undefined
      },
    },
  ],
  work: [
    {
      name: 'what was granted for a session runs there again without a question',
      arena: 'asking',
      act: async (arena, { token }) => {
        const session = `granted-${token}`
        await sayYes(arena, await askAbout(arena, exec('echo hi'), { session }), 'session')
        const { status } = await arena.attack([[exec('echo hi')]], { session })
        for (const { id } of await grantsOf(arena)) await arena.http('POST', `/v1/grants/${id}/revoke`, {})
        return status === 'completed' ? undefined : `the request is ${status}`
      },
    },
  ],
}
