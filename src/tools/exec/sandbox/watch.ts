import type { Clock, Millis } from '../../../domain/clock.ts'
import type { CommandLimits } from './bwrap-arguments.ts'
import { host } from './host.ts'

const interval: Millis = 100

/** A running sandbox as seen from outside: its first process and PID namespace. */
export interface SandboxProcess {
  init: number
  namespace: string
}

type Excess = 'processes' | 'memory'

/**
 * Watches a sandbox's processes and memory from outside, until it exceeds a limit or the signal aborts. The kernel's own
 * limits do not count root's processes, and limit memory only per process.
 */
export async function watchFor(
  { init, namespace }: SandboxProcess,
  { processes, memoryBytes }: CommandLimits,
  clock: Clock,
  over: AbortSignal,
): Promise<Excess | undefined> {
  const inside = `/proc/${init}/root/proc`
  for (;;) {
    await clock.sleep(interval, over)
    if (over.aborted) return undefined
    // Until the sandbox is set up, the process still sees the host's /proc.
    if ((await host.link(`${inside}/1/ns/pid`)) !== `pid:[${namespace}]`) continue
    const pids = (await host.names(inside)).filter((name) => /^\d+$/.test(name))
    if (pids.length > processes) return 'processes'
    const memoryUse = await Promise.all(pids.map((pid) => ownBytes(`${inside}/${pid}/status`)))
    if (memoryUse.reduce((sum, bytes) => sum + bytes, 0) > memoryBytes) return 'memory'
  }
}

/** Anonymous memory of a process; 0 if it is gone. */
async function ownBytes(status: string): Promise<number> {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec((await host.text(status)) ?? '')?.[1]
  return Number(kilobytes ?? 0) * 1024
}
