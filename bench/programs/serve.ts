import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'

/** What everybody who is measured can be asked for, each in a process of its own. Times are in milliseconds. */
export interface Contestant {
  /** Goes on with the conversation; answers the time of each turn. */
  turns(count: number): Promise<number[]>
  /** Starts so many agents at once, each one tool call and an answer; answers the time until the last has ended. */
  agents(count: number): Promise<number>
  /** The size of its database, the log moved into the main file. */
  bytes(): Promise<number> | number
}

export type Order = { do: 'turns' | 'agents' | 'bytes'; count?: number }

/** What an order came to, and what it did to the process. */
export interface Done {
  result: number | number[]
  /** The most memory the process ever had. */
  peakMb: number
  /** The longest time that a timer of 1 ms took during the order: how long the event loop was blocked, and 1 ms. */
  blockedMs: number
  /** The most processor time that this thread spent between two turns of the timer, whatever else the machine did. */
  blockedCpuMs: number
}

/** Obeys orders, one JSON line each, and prints what they came to, one JSON line each, until there are no more. */
export async function serve(contestant: Contestant): Promise<never> {
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as Order
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const watch = watchThread()
    const result = await contestant[order.do](order.count ?? 1)
    // Lets the timer fire that the end of the work held up.
    await new Promise((resolve) => setTimeout(resolve, 5))
    delay.disable()
    const done: Done = { result, peakMb: peakMemory(), blockedMs: delay.max / 1e6, blockedCpuMs: watch.stop() }
    process.stdout.write(`${JSON.stringify(done)}\n`)
  }
  process.exit(0)
}

/** Looks each millisecond how much processor time this thread has spent since it last could look. */
function watchThread(): { stop(): number } {
  const spent = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let [before, most] = [spent(), 0]
  const look = () => {
    const now = spent()
    most = Math.max(most, now - before)
    before = now
  }
  const timer = setInterval(look, 1)
  return {
    stop() {
      clearInterval(timer)
      look()
      return most
    },
  }
}

/** In MB. What `resourceUsage` tells is at least what the process had that started this one. */
function peakMemory(): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
