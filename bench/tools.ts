import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nothingProtected } from '../src/domain/tools/path-handle.ts'
import { systemClock as clock } from '../src/system.ts'
import { makeCall, prepareCall } from '../src/tools/call.ts'
import { execTool } from '../src/tools/exec/sandbox/exec-tool.ts'
import { type Figure, figure, measure, measurePairs, median, missing, shown } from './figures.ts'
import type { Scratch } from './scratch.ts'
import { fileFigures } from './tools-files.ts'

const pairs = 200
const atOnce = 50
const rounds = 5
const config = { sandbox: 'on', network: false, timeoutSeconds: 60, maxTimeoutSeconds: 60, memoryMB: 4096 } as const

/** What tools cost over what they do: file tools over the bare operation, a command in its sandbox over one without. */
export async function tools(scratch: Scratch): Promise<Figure[]> {
  return [...(await fileFigures(scratch)), ...(await execFigures(scratch))]
}

async function execFigures(scratch: Scratch): Promise<Figure[]> {
  const names = ['exec of true over a bare spawn of it', `${atOnce} commands at once`, 'proof that the sandbox holds']
  const settings = { ...config, processes: 512 }
  const found = await execTool(settings, { clock, env: process.env })
  if ('obstacle' in found) return names.map((name) => missing(name, 'ms', null, found.obstacle.why))
  const folder = join(scratch.directory, 'exec')
  mkdirSync(folder)
  const known = new Map([['exec', found.tool]])
  const exec = async (command: string) => {
    const ready = prepareCall({ id: 'call', name: 'exec', input: { command } }, known, ['exec'])
    if ('refused' in ready) throw new Error(JSON.stringify(ready.refused.output))
    const signal = new AbortController().signal
    const { output } = await makeCall(ready, {
      runId: 'run',
      callId: 'call',
      signal,
      folder,
      protect: nothingProtected,
    })
    if (output !== '[exit 0]') throw new Error(`${command}: ${JSON.stringify(output)}`)
  }
  const [over, together, proof] = names as [string, string, string]

  scratch.say('one command at a time')
  const timed = { ours: () => exec('true'), floor: () => bare('true') }
  const { ours, floor } = await measurePairs(timed, { pairs, warmUp: 10 })
  const differences = ours.map((time, pair) => time - (floor[pair] ?? Number.NaN))
  const sides = `exec ${shown(median(ours))} ms, bash -c ${shown(median(floor))} ms, ${pairs} pairs`

  scratch.say(`${atOnce} commands at once`)
  const mark = `${process.pid}.125`
  const bursts: number[] = []
  for (let round = 0; round < rounds; round++)
    bursts.push(await measure(() => Promise.all(Array.from({ length: atOnce }, () => exec(`sleep ${mark} &`)))))
  await clock.sleep(500)
  const left = processesWith(mark)
  const proofs: number[] = []
  for (let round = 0; round < 20; round++)
    proofs.push(await measure(() => execTool(settings, { clock, env: process.env })))

  return [
    figure(over, 'ms', { atMost: 20 }, differences, sides),
    figure(together, 'ms', null, bursts, `each leaves a process behind; ${left} of ${atOnce * rounds} lived on`),
    figure(proof, 'ms', { atMost: 60 }, proofs, 'once in each process that runs agents'),
  ]
}

function bare(command: string): Promise<unknown> {
  const child = spawn('/bin/bash', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] })
  return new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
}

function processesWith(text: string): number {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  }).length
}
