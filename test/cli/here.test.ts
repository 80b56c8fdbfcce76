import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import type { RunLine } from '../../src/api/views/run.ts'
import { openContext } from '../../src/cli/context.ts'
import type { CommandIo } from '../../src/cli/io.ts'
import { main } from '../../src/cli/main.ts'
import { systemClock } from '../../src/system.ts'
import { heddleWithModel } from './heddle-with-model.ts'

/** A talk that is worth noting; who notes it has to wait. */
const answer =
  'The server listens at port 8080 behind a proxy. Certificates expire next March; renewals need root. ' +
  'Customers reach invoices through the harbour gateway, orders travel by queue, and reports wait for Tuesday.'
const heddle = heddleWithModel(({ messages }) =>
  messages.at(-1)?.content === 'which port?' ? { text: answer } : { text: '', faults: { silentAt: 0 } },
)

/** The streams, folder and signals of a command in this process; `exits` are the codes it would have ended with. */
function newIo(onWrite: () => void = () => undefined): CommandIo & { signals: EventEmitter; exits: unknown[] } {
  const exits: unknown[] = []
  return {
    stdin: new PassThrough().end(),
    stdout: new Writable({
      write(_text, _encoding, done) {
        onWrite()
        done()
      },
    }),
    stderr: new PassThrough().resume(),
    cwd: heddle().folder,
    inputKind: () => 'none',
    signals: new EventEmitter(),
    clock: systemClock,
    suspend: () => undefined,
    exit: (code) => exits.push(code),
    exits,
  }
}

const env = () => ({ PATH: process.env['PATH'], HOME: join(heddle().home, '..'), HEDDLE_HOME: heddle().home })

test('a command has one signal to stop: whoever asks for it after Ctrl-C finds that it came', async () => {
  const io = newIo()
  await using here = await openContext({}, env(), io, main)
  const { stopped } = here
  expect(stopped.aborted).toBe(false)
  io.signals.emit('SIGINT')
  expect([stopped.aborted, here.stopped.aborted, here.stopped === stopped]).toEqual([true, true, true])
})

test('a second Ctrl-C ends the process at once; SIGTERM, however often, does not', async () => {
  const io = newIo()
  await using here = await openContext({}, env(), io, main)
  const { stopped } = here
  for (const signal of ['SIGTERM', 'SIGTERM', 'SIGINT', 'SIGTERM']) expect(io.signals.emit(signal)).toBe(true)
  expect([stopped.aborted, io.exits]).toEqual([true, []])
  io.signals.emit('SIGINT')
  expect(io.exits).toEqual([130])
})

test('Ctrl-C between the answer and the noting of where things stand leaves at once', async () => {
  const io = newIo(() => io.signals.emit('SIGINT'))
  expect(await main(['ask', '--agent', '@general', 'which port?'], env(), io)).toBe(0)
  const { runs } = await heddle().json<{ runs: RunLine[] }>('ps', '--all')
  // Whoever had waited for the noting would have given it up in the end, and cancelled it.
  expect(runs.map(({ state }) => state)).not.toContain('cancelled')
  expect(io.exits).toEqual([])
})
