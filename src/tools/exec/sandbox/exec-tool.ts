import type { CrashPoint } from '../../../domain/crash-points.ts'
import type { Tool } from '../../../domain/tools/tool.ts'
import { fileThreads } from '../../files/file-threads.ts'
import { exec } from '../exec.ts'
import { notInstalled, type Obstacle, systemFacts } from './advice.ts'
import { checkAfterCrashes, guardRecordsIn, type LeftoverFile } from './guard-records.ts'
import { findPrograms } from './programs.ts'
import type { Machine, SandboxLimits } from './runner.ts'
import { withoutSandbox } from './runner.ts'
import { proveSandbox } from './self-test.ts'

/** Configuration of commands. */
export interface ExecConfig {
  sandbox: 'on' | 'off'
  network: boolean
  timeoutSeconds: number
  maxTimeoutSeconds: number
  memoryMB: number
  processes: number
}

/**
 * Creates the exec tool if the sandbox works or the config turns it off; otherwise returns the obstacle.
 */
export async function execTool(
  { sandbox, network, memoryMB, processes, ...times }: ExecConfig,
  {
    clock,
    env,
    guardRecords,
    sandboxProof,
    credentials = {},
    crash,
  }: Pick<Machine, 'clock' | 'env'> & {
    guardRecords?: string
    /** File that keeps the proof of the sandbox; without it, the sandbox is tested each time. */
    sandboxProof?: string
    /** Credentials by name, which commands see as environment variables. */
    credentials?: Readonly<Record<string, string>>
    crash?: (point: CrashPoint) => void
  },
): Promise<{ tool: Tool; leftBehind?: LeftoverFile[] } | { obstacle: Obstacle }> {
  const confines: SandboxLimits = { network, processes, memoryBytes: memoryMB * 2 ** 20 }
  const machine = { clock, env, self: { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 } }
  // A pool of its own: an endless search must not block commands.
  const threads = fileThreads(clock, 1)
  if (sandbox === 'off') {
    const programs = await findPrograms()
    if ('missing' in programs) return { obstacle: notInstalled(programs.missing, await systemFacts()) }
    const runner = withoutSandbox(programs, confines, machine)
    return { tool: exec(runner, threads, { ...times, network: true, isConfined: false, credentials, clock }) }
  }
  const proof = await proveSandbox(confines, machine, sandboxProof)
  if ('obstacle' in proof) return proof
  const records = guardRecords === undefined ? undefined : guardRecordsIn(guardRecords)
  const leftBehind = guardRecords === undefined ? [] : await checkAfterCrashes(guardRecords, threads)
  return {
    tool: exec(proof.runner, threads, { ...times, network, isConfined: true, credentials, clock, records, crash }),
    leftBehind,
  }
}
