import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { compileCache, node } from '../setup/node.ts'
import type { Act } from './act.ts'
import type { Passes, Said } from './said.ts'

const patience = 120_000

/** A process that plays a part, from its start to its end. */
export interface Life {
  readonly child: ChildProcess
  /** Resolves when it says this for the first time, or has ended without. */
  says(what: string): Promise<void>
  readonly end: Promise<LifeEnd>
}

/** What became of it. It must end by the kill it was told, or well. */
export interface LifeEnd {
  said: Said[]
  wasKilled: boolean
  passes: Passes
  endedAt: number
  /** When it said that nothing is left to do; not a number when it never did. */
  quietAt: number
  /** What it could not do at the first attempt: nothing to wonder at for one that slept, and was hung up on. */
  troubles: string[]
  problems: string[]
}

/** Starts the program `act` and tells it what to play, and where to die. */
export function beginLife(program: string, act: Act, crashAt: string | undefined): Life {
  const { child, lines, complaints } = startProgram(program, [JSON.stringify(act)], {
    HEDDLE_CRASH_AT: crashAt ?? '',
    // Beside the program, since it is gone when that is.
    NODE_COMPILE_CACHE: join(dirname(program), 'cache'),
  })
  const said: Said[] = []
  const hearing = new EventEmitter()
  let quietAt = Number.NaN
  let isLate = false
  lines.on('line', (line) => {
    for (const each of parsed<Said>(line)) {
      said.push(each)
      if ('quiet' in each) quietAt = performance.now()
      hearing.emit('said')
    }
  })
  const tooLong = setTimeout(() => {
    isLate = true
    // A process that is stopped hears nothing else.
    child.kill('SIGKILL')
  }, patience)
  const end = once(child, 'close').then(([code, signal]): LifeEnd => {
    clearTimeout(tooLong)
    const isWell = code === 0 || (signal === 'SIGKILL' && crashAt !== undefined && !isLate)
    const troubles = said.flatMap((each) => ('trouble' in each ? [`${act.name} had trouble: ${each.trouble}`] : []))
    const badEnd = isWell
      ? []
      : [`${act.name} ended with ${isLate ? 'nothing done in time' : (signal ?? code)}: ${complaints().slice(-2000)}`]
    return {
      said,
      wasKilled: signal === 'SIGKILL',
      passes: said.find((each) => 'passes' in each)?.passes ?? {},
      endedAt: performance.now(),
      quietAt,
      troubles,
      problems: badEnd,
    }
  })
  return {
    child,
    end,
    async says(what) {
      const isSaid = () => said.some((each) => what in each)
      const heard = Promise.withResolvers<void>()
      const listen = () => isSaid() && heard.resolve()
      hearing.on('said', listen)
      listen()
      await Promise.race([heard.promise, end])
      hearing.off('said', listen)
    },
  }
}

const running = new Set<ChildProcess>()

function killRunning(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** A child that ends with us. The channel tells it that we are gone; one that is stopped does not hear that. */
export function startProgram(program: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(node[0], [...node.slice(1), program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...env },
  })
  if (running.size === 0) process.on('exit', killRunning)
  running.add(child)
  child.once('close', () => {
    running.delete(child)
    if (running.size === 0) process.off('exit', killRunning)
  })
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  if (!child.stdout) throw new Error('the child has no output')
  return { child, lines: createInterface({ input: child.stdout }), complaints: () => complaints }
}

/** Nothing for a line that a kill cut short. */
export function parsed<T>(line: string): T[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}
