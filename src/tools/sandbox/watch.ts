import type { Clock, Millis } from '../../domain/clock.ts'
import type { Limits } from './bwrap-arguments.ts'
import { host } from './host.ts'

const every: Millis = 100

/** A sandbox as seen from outside: its first process, and its namespace of processes. */
export interface Inside {
  init: number
  namespace: string
}

export type Excess = 'processes' | 'memory'

/**
 * Counts what a sandbox holds, from outside, until it takes too much or the signal aborts. The kernel's own limits do
 * not count root's processes, and know memory only process by process.
 */
export async function watchFor(
  { init, namespace }: Inside,
  { processes, memoryBytes }: Limits,
  clock: Clock,
  over: AbortSignal,
): Promise<Excess | undefined> {
  const inside = `/proc/${init}/root/proc`
  for (;;) {
    await clock.sleep(every, over)
    if (over.aborted) return undefined
    // Until the walls stand, the process still sees the /proc of everyone.
    if ((await host.link(`${inside}/1/ns/pid`)) !== `pid:[${namespace}]`) continue
    const pids = (await host.names(inside)).filter((name) => /^\d+$/.test(name))
    if (pids.length > processes) return 'processes'
    const held = await Promise.all(pids.map((pid) => ownBytes(`${inside}/${pid}/status`)))
    if (held.reduce((sum, bytes) => sum + bytes, 0) > memoryBytes) return 'memory'
  }
}

/** What a process holds for itself alone; 0 for one that is gone. */
async function ownBytes(status: string): Promise<number> {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec((await host.text(status)) ?? '')?.[1]
  return Number(kilobytes ?? 0) * 1024
}
