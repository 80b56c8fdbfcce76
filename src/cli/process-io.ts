import { fstatSync } from 'node:fs'
import type { CommandIo } from './io.ts'

/** The streams, folder and signals of this process. Nothing else in this room touches them. */
export const processIo: CommandIo = {
  // Asked for when needed: to open stdin can change what it is, and the folder may be gone.
  get stdin() {
    return process.stdin
  },
  get stdout() {
    return process.stdout
  },
  get stderr() {
    return process.stderr
  },
  get cwd() {
    return process.cwd()
  },
  inputKind() {
    try {
      const input = fstatSync(0)
      return input.isFIFO() || input.isFile() ? 'stream' : input.isSocket() ? 'socket' : 'none'
    } catch {
      return 'none'
    }
  },
  signals: process,
  suspend(onResume) {
    process.once('SIGCONT', onResume)
    process.kill(process.pid, 'SIGTSTP')
  },
  exit: (code) => process.exit(code),
}
