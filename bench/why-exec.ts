import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nothingProtected } from '../src/domain/tools/path-handle.ts'
import { systemClock as clock } from '../src/system.ts'
import { makeCall, prepareCall } from '../src/tools/call.ts'
import { execTool } from '../src/tools/exec/sandbox/exec-tool.ts'
import { type Figure, figure, measure, missing, shown } from './figures.ts'
import type { Scratch } from './scratch.ts'

const files = 10_000
const rounds = 40
const config = { sandbox: 'on', network: false, timeoutSeconds: 60, maxTimeoutSeconds: 60, memoryMB: 4096 } as const

/** What surveys before and after a command cost in a large folder: the first commands also read its files. */
export async function measureSurveys(scratch: Scratch): Promise<Figure[]> {
  const name = `exec of true in a folder of ${files} files`
  const found = await execTool({ ...config, processes: 512 }, { clock, env: process.env })
  if ('obstacle' in found) return [missing(name, 'ms', null, found.obstacle.why)]
  const [large, empty] = [join(scratch.directory, 'large-folder'), join(scratch.directory, 'empty-folder')]
  mkdirSync(empty)
  for (let at = 0; at < files; at++) {
    const directory = join(large, `part-${at % 100}`)
    if (at < 100) mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, `file-${at}.ts`), `export const value${at} = ${at}\n`.repeat(20))
  }
  const known = new Map([['exec', found.tool]])
  const exec = (folder: string) => async () => {
    const ready = prepareCall({ id: 'call', name: 'exec', input: { command: 'true' } }, known, ['exec'])
    if ('refused' in ready) throw new Error(JSON.stringify(ready.refused.output))
    const { signal } = new AbortController()
    await makeCall(ready, { runId: 'run', callId: 'call', signal, folder, protect: nothingProtected })
  }
  scratch.say(name)
  const [inLarge, inEmpty]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    inLarge.push(await measure(exec(large)))
    inEmpty.push(await measure(exec(empty)))
  }
  const firsts = inLarge.slice(0, 3).map(shown).join(', ')
  return [
    figure(name, 'ms', null, inLarge.slice(rounds / 2), `the first three took ${firsts} ms: they read the files`),
    figure('exec of true in an empty folder', 'ms', null, inEmpty.slice(rounds / 2), `${rounds / 2} times`),
  ]
}
