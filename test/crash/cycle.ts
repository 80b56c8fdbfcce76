import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import pg from 'pg'
import type { Act, Passes, Said } from './act.ts'
import { providerRules, type Scenario } from './scenarios.ts'

export interface Cycle {
  scenario: Scenario
  /** `sqlite`, or the address of a server on which the cycle makes a schema of its own. */
  database: string
  /** Where the first process dies, then the ones that recover: `point#n`. The last recovery is left alone. */
  kills: string[]
}

export interface CycleResult {
  cycle: Cycle
  /** How many of the kills were reached. */
  killed: number
  /** What the first process passed, when it was not killed; what the last recovery passed. */
  passes: { scenario: Passes; recovery: Passes }
  recoveryMs: number
  problems: string[]
}

const here = import.meta.dirname
const providerProgram = join(here, '../../src/testing/provider-program.ts')
const patience = 30_000
let made = 0

/** One life: a process is killed where it is told to, others recover what it left, and the checker judges the rest. */
export async function runCycle(cycle: Cycle): Promise<CycleResult> {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-crash-'))
  const providerLog = join(directory, 'provider.jsonl')
  const toolLog = join(directory, 'tools.jsonl')
  const rules = join(directory, 'rules.json')
  for (const log of [providerLog, toolLog]) writeFileSync(log, '')
  writeFileSync(rules, JSON.stringify(providerRules))
  const schema = `crash_${process.pid}_${++made}`
  const database = cycle.database === 'sqlite' ? 'sqlite' : `${cycle.database}?schema=${schema}`
  const provider = startProgram(providerProgram, ['0', rules, providerLog])
  try {
    const home = join(directory, 'home')
    const providerUrl = await provider.firstLine
    const act = { home, database, providerUrl, providerLog, toolLog }
    const lives = await live(cycle, act)
    const evidence = { home, database, providerLog, toolLog, said: lives.said, kills: lives.killed, at: cycle.kills }
    const problems = [...lives.problems, ...(await judge(evidence, directory))]
    return { cycle, killed: lives.killed, passes: lives.passes, recoveryMs: lives.recoveryMs, problems }
  } finally {
    provider.child.kill('SIGKILL')
    if (cycle.database !== 'sqlite') await dropSchema(cycle.database, schema)
    rmSync(directory, { recursive: true, force: true })
  }
}

async function live({ scenario, kills }: Cycle, act: Omit<Act, 'act'>) {
  const [kill, ...recoveryKills] = kills
  const first = await perform({ ...act, act: scenario }, kill)
  const said = first.said
  const problems = first.problem
  let killed = first.end === 'SIGKILL' ? 1 : 0
  for (const at of recoveryKills) {
    const life = await perform({ ...act, act: 'recover' }, at)
    said.push(...life.said)
    problems.push(...life.problem)
    if (life.end === 'SIGKILL') killed++
  }
  const last = await perform({ ...act, act: 'recover' }, undefined)
  said.push(...last.said)
  problems.push(...last.problem)
  const passes = { scenario: first.passes, recovery: last.passes }
  return { said, problems, killed, passes, recoveryMs: last.duration }
}

/** One process from its start to its end. It must end by the kill it was told, or well. */
async function perform(act: Act, crashAt: string | undefined) {
  const started = performance.now()
  const { child, lines, complaints } = startProgram(
    join(here, 'act.ts'),
    [JSON.stringify(act)],
    crashAt === undefined ? {} : { HEDDLE_CRASH_AT: crashAt },
  )
  const tooLong = setTimeout(() => child.kill('SIGABRT'), patience)
  let quietAt = Number.NaN
  child.stdout?.on('data', (text) => {
    if (String(text).includes('"quiet"')) quietAt = performance.now()
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(tooLong)
  const said = lines.flatMap((line): Said[] => parsed(line))
  const passes = said.find((each) => 'passes' in each)?.passes ?? {}
  const isWell = code === 0 || (signal === 'SIGKILL' && crashAt !== undefined)
  const troubles = said.flatMap((each) => ('trouble' in each ? [`${act.act} had trouble: ${each.trouble}`] : []))
  const badEnd = isWell ? [] : [`${act.act} ended with ${signal ?? code}: ${complaints().slice(-2000)}`]
  return {
    said,
    end: signal ?? code,
    passes,
    duration: quietAt - started,
    problem: [...troubles, ...badEnd],
  }
}

/** Asks the checker, a program that knows nothing of ours but the files. */
async function judge(evidence: object, directory: string): Promise<string[]> {
  const file = join(directory, 'evidence.json')
  writeFileSync(file, JSON.stringify(evidence))
  const { child, lines, complaints } = startProgram(join(here, 'checker.ts'), [file])
  await once(child, 'close')
  const [verdict] = lines.flatMap((line): { ok: boolean; problems: string[] }[] => parsed(line))
  return verdict?.problems ?? [`the checker did not judge: ${complaints()}`]
}

function startProgram(program: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program, ...args], {
    // The channel ends the provider with us, however we end.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'heddle-crash-cache'), HEDDLE_CRASH_AT: '', ...env },
  })
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const lines: string[] = []
  const firstLine = readLines(child, lines)
  // Nobody waits for the first line of most programs.
  firstLine.catch(() => undefined)
  return { child, lines, firstLine, complaints: () => complaints }
}

function readLines(child: ChildProcess, lines: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return reject(new Error('the child has no output'))
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      resolve(line)
    })
    child.once('close', () => reject(new Error('the child ended without a word')))
  })
}

/** Nothing for a line that a kill cut short. */
function parsed<T>(line: string): T[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

async function dropSchema(url: string, schema: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await client.end()
}
