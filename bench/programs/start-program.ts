import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Starts a program of this folder; resolves when it has said that it is ready. It ends with its input. */
export async function startProgram(name: string, words: string[]): Promise<ChildProcess> {
  const program = spawn(process.execPath, [join(import.meta.dirname, `${name}.ts`), ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], NODE_NO_WARNINGS: '1' },
  })
  const ended = once(program, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${code} before it was ready`)
  })
  await Promise.race([once(program.stdout, 'data'), ended])
  ended.catch(() => undefined)
  return program
}
