import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { CommandIo } from '../../src/cli/io.ts'
import { main } from '../../src/cli/main.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/system.ts'

/** One command in this process, with streams and a folder of its own, as a shell would start it with pipes. */
export async function runInProcess(
  args: string[],
  {
    env,
    cwd,
    input,
    signals = new EventEmitter(),
    clock = systemClock,
  }: { env: NodeJS.ProcessEnv; cwd: string; input: string | Buffer; signals?: EventEmitter; clock?: Clock },
): Promise<{ code: number; signal: null; out: string; err: string }> {
  const io: CommandIo = {
    stdin: new PassThrough().end(input),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    cwd,
    inputKind: () => 'socket',
    signals,
    clock,
    suspend: () => undefined,
    exit: (code) => {
      throw new Error(`the command would have ended its process with ${code}`)
    },
  }
  const said = Promise.all([text(io.stdout as PassThrough), text(io.stderr as PassThrough)])
  const code = await main(args, env, io)
  io.stdout.end()
  io.stderr.end()
  const [out, err] = await said
  return { code, signal: null, out, err }
}
