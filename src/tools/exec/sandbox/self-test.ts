import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { nothingProtected } from '../../../domain/tools/path-handle.ts'
import {
  minVersion,
  notConfining,
  notInstalled,
  notThisSystem,
  notWorking,
  type Obstacle,
  systemFacts,
  tooOld,
} from './advice.ts'
import { host } from './host.ts'
import { launch } from './launch.ts'
import { findPrograms, type Programs } from './programs.ts'
import { proofCache } from './proof-cache.ts'
import { inBubblewrap, type Machine, type Runner, type SandboxLimits } from './runner.ts'

const timeoutMs = 10_000
const [inside, beside] = ['heddle-inside', 'heddle-beside']

/** A working sandbox, or the obstacle. */
type Proof = { runner: Runner } | { obstacle: Obstacle }

/**
 * Tests the sandbox with a command that tries to escape: a sandbox that does not confine is worse than none. A proof that was
 * kept in a file counts as long as it holds.
 */
export async function proveSandbox(confines: SandboxLimits, machine: Machine, file?: string): Promise<Proof> {
  if (process.platform !== 'linux') return { obstacle: notThisSystem(process.platform) }
  const programs = await findPrograms()
  if ('missing' in programs) return { obstacle: notInstalled(programs.missing, await systemFacts()) }
  const { bwrap } = programs
  if (bwrap === undefined) return { obstacle: notInstalled('bubblewrap', await systemFacts()) }
  const runner = inBubblewrap({ ...programs, bwrap }, confines, machine)
  const kept = proofCache(file, { programs, confines, machine })
  if (await kept.holds()) return { runner }
  const flaw = await tryToEscape(runner, confines)
  if (!flaw) {
    await kept.keep()
    return { runner }
  }
  const facts = await systemFacts()
  if ('breach' in flaw) return { obstacle: notConfining(flaw.breach, facts) }
  const version = await versionOf({ ...programs, bwrap }, machine)
  if (version !== undefined && isOld(version)) return { obstacle: tooOld(version, facts) }
  return { obstacle: notWorking(flaw.failure, facts) }
}

/** The sandbox's flaw: a command escapes, or commands do not work. Undefined if it passes. */
async function tryToEscape(
  runner: Runner,
  { network }: SandboxLimits,
): Promise<{ breach: string } | { failure: string } | undefined> {
  const server = createServer()
  let isReached = false
  server.on('connection', (socket) => {
    isReached = true
    socket.destroy()
  })
  try {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    return await host.inScratch({ inside, beside }, async (scratch) => {
      const command = [
        'LC_ALL=C',
        `cat ${scratch.inside} '${scratch.beside}'`,
        `(: >/dev/tcp/127.0.0.1/${port}) && echo connected`,
        '(: >>/proc/sys/kernel/core_pattern) && echo kernel',
        'echo end',
      ].join('\n')
      const signal = new AbortController().signal
      const where = {
        folder: scratch.folder,
        cwd: scratch.folder,
        protect: nothingProtected,
        timeoutMs,
        signal,
      }
      const text = (await runner({ command, ...where })).output.text()
      if (text.includes(beside)) return { breach: 'files outside of the sandbox can be read in it' }
      if (/^kernel$/m.test(text)) return { breach: 'the settings of the kernel can be changed in the sandbox' }
      if (!network && isReached) return { breach: 'the network can be reached from the sandbox' }
      const isRefused = network || /refused|unreachable/i.test(text)
      if (!text.includes(inside) || !isRefused || !text.includes('end'))
        return { failure: `commands do not work in the sandbox: ${text.slice(0, 200)}` }
      return undefined
    })
  } catch (error) {
    // Any error means that the sandbox is not proven.
    return { failure: error instanceof Error ? error.message : String(error) }
  } finally {
    server.close()
  }
}

async function versionOf(programs: Programs & { bwrap: string }, { clock }: Machine): Promise<string | undefined> {
  const signal = new AbortController().signal
  const bounds = { clock, signal, timeoutMs: timeoutMs, keptBytes: 1000, floodBytes: 1000 }
  const order = { argv: [programs.bwrap, '--version'], env: {}, cwd: '/' }
  const ended = await launch(programs, order, bounds).catch(() => undefined)
  return /(\d+(?:\.\d+)+)/.exec(ended?.output.text() ?? '')?.[1]
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < minVersion[0] || (major === minVersion[0] && minor < minVersion[1])
}
