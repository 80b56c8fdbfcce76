import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { runsOf } from '../../src/store/rows/runs.ts'
import { systemClock } from '../../src/system.ts'
import { execTool } from '../../src/tools/exec/sandbox/exec-tool.ts'
import { untilSo } from '../setup/until.ts'
import { answered, calling, newSpawning, type Spawning } from './spawning.ts'

let nest: Spawning
afterEach(() => nest.remove())

const config = { sandbox: 'on', network: false, timeoutSeconds: 600, maxTimeoutSeconds: 600 } as const

test.each(['kill', 'kill_all'])(
  'subagents %s ends the processes of a command that a sub-agent runs',
  async (action) => {
    const found = await execTool(
      { ...config, memoryMB: 1024, processes: 200 },
      { clock: systemClock, env: process.env },
    )
    if ('obstacle' in found) throw new Error(found.obstacle.why)
    // One in the foreground and one in the background, which no other program on this machine is called like.
    const seconds = `${Date.now()}.${process.pid}`
    const command = `sleep ${seconds} & sleep ${seconds}`
    nest = await newSpawning(
      'sqlite',
      {
        parent: (last, request) => {
          if (answered(request)) return { text: 'so it is' }
          if (last === 'stop') return calling('subagents', { action, ...(action === 'kill' && { target: 'last' }) })
          return last === 'go' ? calling('sessions_spawn', { task: 'run it' }) : { text: 'heard' }
        },
        child: (_, request) => (answered(request) ? { text: 'it ended' } : calling('exec', { command })),
      },
      { tools: [found.tool] },
    )
    await nest.say('go')
    await untilSo(() => processesNamed(seconds).length === 2)
    await nest.say('stop')
    await untilSo(() => processesNamed(seconds).length === 0)
    const [child] = await nest.until(async (rows) => {
      const runs = await runsOf(rows, {})
      return runs.every(({ finishedAt }) => finishedAt !== null) && runs.filter(({ depth }) => depth === 1)
    })
    expect(child?.state).toBe('cancelled')
  },
)

/** Processes of this machine with the command `sleep` for so long. */
function processesNamed(seconds: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${seconds}\0`
    } catch {
      // It has ended since it was listed.
      return false
    }
  })
}
