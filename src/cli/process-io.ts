import { fstatSync } from 'node:fs'
import { systemClock } from '../system.ts'
import type { CommandIo } from './io.ts'
import { ProcessSignals } from './process-signals.ts'

/** Streams, folder, signals and time of this process. Nothing else in cli may touch them. */
export const processIo: CommandIo = {
  // Getters, because opening stdin can change its kind, and the folder may be gone.
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
  signals: new ProcessSignals(process, systemClock.monotonic),
  clock: systemClock,
  suspend(onResume) {
    process.once('SIGCONT', onResume)
    process.kill(process.pid, 'SIGTSTP')
  },
  exit: (code) => process.exit(code),
}
