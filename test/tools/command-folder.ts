import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { CallContext, ToolOutcome } from '../../src/domain/tools/tool.ts'
import { userGitOf } from '../../src/domain/tools/user-git.ts'
import { systemClock } from '../../src/system.ts'
import { makeCall, prepareCall } from '../../src/tools/call.ts'
import { type ExecConfig, execTool } from '../../src/tools/exec/sandbox/exec-tool.ts'

import { untilSo } from '../setup/until.ts'

export { isRoot } from '../setup/root.ts'
/** Somebody who owns nothing else. */
export const nobody = 65534

export const usual: ExecConfig = {
  sandbox: 'on',
  network: false,
  timeoutSeconds: 20,
  maxTimeoutSeconds: 60,
  memoryMB: 1024,
  processes: 200,
}

/** Limits that a run's permissions put on a call. */
type CommandLimits = Pick<CallContext, 'sandbox' | 'credentials'>

/** A session's folder, a place beside it, and commands as a model gives them. */
export interface CommandFolder {
  path: string
  outside: string
  /** A folder inside that belongs to the runtime. */
  hidden: string
  call(input: unknown, signal?: AbortSignal, limits?: CommandLimits): Promise<ToolOutcome>
  /** The answer to a command; fails when it was refused. */
  run(command: string, more?: object): Promise<string>
  remove(): void
}

export async function commandFolder(
  config: Partial<ExecConfig> = {},
  {
    owner,
    env = process.env,
    ...more
  }: {
    owner?: number
    env?: NodeJS.ProcessEnv
    guardRecords?: string
    credentials?: Record<string, string>
  } = {},
): Promise<CommandFolder> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-commands-')))
  chmodSync(place, 0o755)
  const [path, outside] = [join(place, 'folder'), join(place, 'beside')]
  const hidden = join(path, 'deep', 'deeper', 'home')
  mkdirSync(hidden, { recursive: true })
  mkdirSync(outside)
  if (owner !== undefined)
    for (const each of [path, join(path, 'deep'), join(path, 'deep', 'deeper'), hidden]) chownSync(each, owner, owner)
  const found = await execTool({ ...usual, ...config }, { clock: systemClock, env, ...more })
  if ('obstacle' in found) throw new Error(`${found.obstacle.why}: ${found.obstacle.remedy}`)
  const known = new Map([['exec', found.tool]])
  const folder: CommandFolder = {
    path,
    outside,
    hidden,
    async call(input, signal = new AbortController().signal, limits = {}) {
      const ready = prepareCall({ id: 'call', name: 'exec', input }, known, ['exec'])
      if ('refused' in ready) return ready.refused
      return makeCall(ready, {
        runId: 'run',
        callId: 'call',
        signal,
        folder: path,
        ...limits,
        protect: { ...nothingProtected, hidden: [hidden], userGit: userGitOf(env, env['HOME'] ?? '/') },
      })
    },
    async run(command, more = {}) {
      const { status, output } = await folder.call({ command, ...more })
      if (status !== 'ok' || typeof output !== 'string') throw new Error(JSON.stringify(output))
      return output
    },
    remove: () => rmSync(place, { recursive: true, force: true }),
  }
  return folder
}

/** The processes of this machine whose command line holds a text, other than this one. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** How many processes there are that another began, and those began in turn. */
export function descendantsOf(pid: number): number {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name): [number, number][] => {
        try {
          // The name of the program, in brackets, may hold anything.
          const after = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1) ?? ''
          return [[Number(name), Number(after.split(' ')[1])]]
        } catch {
          return []
        }
      }),
  )
  const isBelow = (each: number): boolean => {
    const parent = parents.get(each)
    return parent !== undefined && (parent === pid || isBelow(parent))
  }
  return [...parents.keys()].filter(isBelow).length
}

/** Processes that were killed are gone once the kernel has put them away. */
export async function untilNone(text: string): Promise<number[]> {
  const giveUp = systemClock.monotonic() + 60_000
  await untilSo(() => processesWith(text).length === 0 || systemClock.monotonic() > giveUp)
  return processesWith(text)
}
