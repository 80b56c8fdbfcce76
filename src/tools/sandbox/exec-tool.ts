import type { CrashPoint } from '../../domain/crash-points.ts'
import type { Tool } from '../../domain/tool.ts'
import { exec } from '../exec.ts'
import { fileThreads } from '../file-threads.ts'
import { notInstalled, type Obstacle, systemFacts } from './advice.ts'
import { guardRecordsIn, type LeftBehind, lookAfterCrashes } from './guard-records.ts'
import { findPrograms } from './programs.ts'
import type { Confines, Machine } from './runner.ts'
import { withoutSandbox } from './runner.ts'
import { proveSandbox } from './self-test.ts'

/** What the owner's configuration says about commands. */
export interface ExecConfig {
  sandbox: 'on' | 'off'
  network: boolean
  timeoutSeconds: number
  maxTimeoutSeconds: number
  memoryMB: number
  processes: number
}

/**
 * The tool that runs commands, where that is safe or the owner has asked for it in spite of that; otherwise what is in
 * the way.
 */
export async function execTool(
  { sandbox, network, memoryMB, processes, ...times }: ExecConfig,
  {
    clock,
    env,
    guardRecords,
    crash,
  }: Pick<Machine, 'clock' | 'env'> & {
    guardRecords?: string
    crash?: (point: CrashPoint) => void
  },
): Promise<{ tool: Tool; leftBehind?: LeftBehind[] } | { obstacle: Obstacle }> {
  const confines: Confines = { network, processes, memoryBytes: memoryMB * 2 ** 20 }
  const machine = { clock, env, self: { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 } }
  // One of their own: a search that never ends must not keep commands waiting.
  const threads = fileThreads(clock, 1)
  if (sandbox === 'off') {
    const programs = await findPrograms()
    if ('missing' in programs) return { obstacle: notInstalled(programs.missing, await systemFacts()) }
    const runner = withoutSandbox(programs, confines, machine)
    return { tool: exec(runner, threads, { ...times, network: true, isConfined: false, clock, env }) }
  }
  const proof = await proveSandbox(confines, machine)
  if ('obstacle' in proof) return proof
  const records = guardRecords === undefined ? undefined : guardRecordsIn(guardRecords)
  const leftBehind = guardRecords === undefined ? [] : await lookAfterCrashes(guardRecords, threads)
  return {
    tool: exec(proof.runner, threads, { ...times, network, isConfined: true, clock, env, records, crash }),
    leftBehind,
  }
}
