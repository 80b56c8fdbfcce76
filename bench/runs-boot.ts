import { spawn } from 'node:child_process'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundleWhole } from '../test/setup/bundle.ts'
import { type Figure, figure } from './figures.ts'
import { openHome } from './home.ts'
import type { LargeHome } from './large-home.ts'
import type { BootSettings } from './programs/boot.ts'
import { folder, type Scratch } from './scratch.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

const pending = 1000
const boots = 5

/** A large home whose process was killed in the midst of its work: how soon does a new process go on? */
export async function measureBoot(scratch: Scratch, large: LargeHome): Promise<Figure[]> {
  scratch.say(`boot with ${large.turns} turns and ${pending} pending runs`)
  const program = await buildBoot(scratch)
  const home = large.copy('boot')
  const app = await openHome({ home, model: zeroLatencyModel() })
  const asked = Array.from({ length: pending }, (_, number) => `pending-${number}`)
  await Promise.all(asked.map((session) => app.submit(folder, { session, content: conversation.question })))
  await app.close()
  return [
    await measureRecovery(scratch, home, { program, underWay: 100, stored: large.turns }),
    await measureRecovery(scratch, home, { program, underWay: pending, stored: large.turns }),
  ]
}

async function measureRecovery(
  { directory }: Scratch,
  home: string,
  { program, underWay, stored }: { program: string; underWay: number; stored: number },
): Promise<Figure> {
  const left = join(directory, `boot-${underWay}`)
  cpSync(home, left, { recursive: true })
  await killUnderWay(program, left, underWay)
  const times: number[] = []
  for (let boot = 1; boot <= boots; boot++) times.push(await bootCopy(program, left, underWay))
  rmSync(left, { recursive: true })
  return figure(
    `boot → first recovered run, ${underWay} of ${pending} under way at the kill`,
    'ms',
    { atMost: 1000 },
    times,
    `${stored} turns; from the start of a process, built and compiled as the package is, to the model's request; ${boots} boots`,
  )
}

/** The program that boots, built as the package is; what Node has compiled of it is kept beside it. */
export async function buildBoot({ directory }: Scratch): Promise<string> {
  const program = join(directory, 'boot', 'programs/boot.js')
  return existsSync(program) ? program : bundleWhole('bench/programs/boot.ts', join(directory, 'boot'))
}

/** Kills the process of a home as soon as this many of its queued runs are under way. */
export async function killUnderWay(program: string, home: string, underWay: number): Promise<void> {
  await run(program, { home, atOnce: underWay, dies: underWay })
}

/** Starts a process over a copy of a home that was killed; the time until its first recovered run asks the model. */
export async function bootCopy(program: string, left: string, atOnce: number): Promise<number> {
  const copy = `${left}-copy`
  cpSync(left, copy, { recursive: true })
  const started = Date.now()
  const time = Number(await run(program, { home: copy, atOnce })) - started
  rmSync(copy, { recursive: true })
  return time
}

/** Runs the program to its end, which is always a kill, and answers what it said. */
function run(program: string, settings: BootSettings): Promise<string> {
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    env: { PATH: process.env['PATH'], NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: join(dirname(program), 'cache') },
  })
  let said = ''
  let complaint = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  child.stderr.on('data', (chunk) => {
    complaint += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('close', (_, signal) =>
      signal === 'SIGKILL' ? resolve(said) : reject(new Error(`${program} ended by itself:\n${complaint}`)),
    )
  })
}
