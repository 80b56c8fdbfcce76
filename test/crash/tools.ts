import { closeSync, existsSync, fsyncSync, openSync, writeSync } from 'node:fs'
import type { Millis } from '../../src/domain/clock.ts'
import type { Tool, ToolOutcome } from '../../src/domain/tools/tool.ts'
import { recordEvent } from '../../src/store/rows/events.ts'
import type { Tx } from '../../src/store/store.ts'
import { systemClock } from '../../src/system.ts'

const stallTime: Millis = 5000
const lookTime: Millis = 20

/**
 * A tool of each effect class. What they do outside the database is a line in the log, on the disk when they answer.
 * `stall` tells that it begins, and ends when the file is there that `stallUntil` names.
 */
export function loggedTools(log: string, onStall: () => void, stallUntil?: string): Tool[] {
  const logged = (name: string, effect: 'pure' | 'idempotent' | 'unsafe', after = () => {}): Tool => ({
    ...described(name),
    effect,
    async run(_input, { runId, callId }) {
      append(log, { name, effect, runId, callId, pid: process.pid })
      after()
      return done(name)
    },
  })
  return [
    logged('look', 'pure'),
    logged('put', 'idempotent'),
    logged('push', 'unsafe'),
    logged('stall', 'unsafe', () => {
      onStall()
      stall(stallUntil)
    }),
    {
      ...described('note'),
      effect: 'transactional',
      async write(tx, _input, { runId, callId }) {
        const payload = { note: callId }
        await recordEvent(tx as Tx, {
          at: systemClock.now(),
          kind: 'run.step',
          subject: `run:${runId}`,
          payload,
          scope: null,
        })
        return done('note')
      },
    },
    // Does not heed its signal: the engine must end the run all the same.
    { ...described('hang'), effect: 'idempotent', run: () => new Promise(() => undefined) },
  ]
}

/**
 * Keeps the event loop from turning, as a bad regular expression or a huge file would, at no cost to others: until this
 * file is there or, without one, for a while.
 */
function stall(until: string | undefined): void {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  if (until === undefined) Atomics.wait(cell, 0, 0, stallTime)
  else while (!existsSync(until)) Atomics.wait(cell, 0, 0, lookTime)
}

function described(name: string) {
  return {
    name,
    description: name,
    inputSchema: { type: 'object', properties: {} },
    parse: (input: unknown) => ({ ok: true as const, value: input }),
  }
}

function done(name: string): ToolOutcome {
  return { status: 'ok', output: { did: name } }
}

function append(log: string, line: unknown): void {
  const file = openSync(log, 'a')
  writeSync(file, `${JSON.stringify(line)}\n`)
  fsyncSync(file)
  closeSync(file)
}
