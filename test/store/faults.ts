import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { bundled, type Program, start } from '../contract/program.ts'
import { newFolder } from './backup-lines.ts'

/** What happens to a program, and at which of its calls to the system. */
export interface Fault {
  /** Names of calls, as strace has them. */
  calls: string
  /** In strace's words: `error=EIO`, `signal=KILL`. */
  fault: string
  /** Only every so many-th call is tried. */
  step?: number
  first?: number
  /** Calls that are like another one, which stands for them. */
  isLikeAnother?(n: number): boolean
  /** How often the fault must be met at least: three times unless given. */
  least?: number
}

/** A program on a database file of its own. */
export interface Victim {
  file: string
  /** Calls on all files count, not only those on the database. */
  anyFile?: boolean
  program: string
  input: unknown
}

/** How a program ended that met a fault. */
export interface Met<V extends Victim> {
  victim: V
  said: unknown[]
  end: Awaited<Program['end']>
}

/**
 * Lets the first call on a database file fail, then the next in another program, and so on, two programs at a time,
 * until one comes through without meeting the fault.
 */
export async function atEveryCall<V extends Victim>(
  fault: Fault,
  prepare: (folder: string) => V,
  check: (met: Met<V>) => Promise<void>,
): Promise<void> {
  let next = fault.first ?? 1
  let met = 0
  let isThrough = false
  const lane = async () => {
    while (!isThrough) {
      const n = next
      next += fault.step ?? 1
      if (fault.isLikeAnother?.(n)) continue
      const found = await runWith(fault, n, prepare(newFolder()))
      if (!found) isThrough = true
      else await check(found).catch((cause) => Promise.reject(new Error(`after the fault at call ${n}`, { cause })))
      if (found) met++
    }
  }
  await Promise.all([lane(), lane()])
  expect(met, 'the fault should be met').toBeGreaterThanOrEqual(fault.least ?? 3)
}

// Half the time of a short program goes into compiling what it imports.
const compiled = join(import.meta.dirname, '../../node_modules/.cache/heddle-test')

async function runWith<V extends Victim>({ calls, fault }: Fault, n: number, victim: V): Promise<Met<V> | undefined> {
  const log = `${victim.file}.calls`
  const paths = victim.anyFile ? [] : ['', '-wal', '-shm', '-journal'].flatMap((part) => ['-P', victim.file + part])
  const trace = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}:when=${n}`]
  // Without a stop at every other call. strace sends no signals then.
  const quick = fault.startsWith('error=') ? ['--seccomp-bpf'] : []
  const program = start(await bundled(victim.program), victim.input, {
    under: ['strace', '-f', ...quick, '-o', log, ...paths, ...trace],
    env: { NODE_COMPILE_CACHE: compiled },
  })
  const said = await program.hearAll()
  const end = await program.end
  const isMet = end === 'SIGKILL' || readFileSync(log, 'utf8').includes('INJECTED')
  return isMet ? { victim, said, end } : undefined
}
