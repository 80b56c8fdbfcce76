import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Done, Order } from './programs/serve.ts'
import type { Scratch } from './scratch.ts'
import { conversation } from './zero-latency.ts'

/** Somebody who is measured, in a process of its own: see programs/serve.ts. */
export interface Entered {
  ask(order: Order): Promise<Done>
  /** Resolves when its process has ended and its folder is gone. */
  leave(): Promise<void>
}

/** Heddle's own program; those of the peers are in peers/. */
export const heddle = join(import.meta.dirname, 'programs', 'heddle.ts')

/** The floor for children, which keeps the same facts and decides nothing. */
export const bareChildren = join(import.meta.dirname, 'programs', 'bare-children.ts')

/** Starts a contestant's program with its settings, in a new folder of its own. */
export function enter(scratch: Scratch, name: string, program: string, settings: object): Entered {
  const directory = join(scratch.directory, name)
  mkdirSync(directory)
  const order = JSON.stringify({ ...conversation, ...settings, directory })
  const child = spawn(process.execPath, [program, order], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], NODE_NO_WARNINGS: '1' },
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint += chunk
  })
  // A process that has died is noticed by the missing answer.
  child.stdin.on('error', () => undefined)
  return {
    async ask(order) {
      child.stdin.write(`${JSON.stringify(order)}\n`)
      const { value, done } = await lines.next()
      if (!done) return JSON.parse(value) as Done
      await ended
      throw new Error(`${program} stopped:\n${complaint}`)
    },
    async leave() {
      child.stdin.end()
      await ended
      rmSync(directory, { recursive: true })
    },
  }
}
