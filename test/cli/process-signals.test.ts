import { EventEmitter } from 'node:events'
import { beforeEach, expect, test } from 'vitest'
import { ProcessSignals } from '../../src/cli/process-signals.ts'
import { type ManualClock, manualClock } from '../../src/testing.ts'

let clock: ManualClock
let source: EventEmitter
let heard: string[]
let signals: ProcessSignals
const aMoment = 1000

beforeEach(() => {
  clock = manualClock()
  source = new EventEmitter()
  heard = []
  signals = new ProcessSignals(source, clock.monotonic)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) signals.on(signal, () => heard.push(signal))
})

/** As Node tells of a signal, and as bin/heddle does of one that the launcher has heard. */
const fromSystem = (signal: NodeJS.Signals) => source.emit(signal, signal, 2)
const fromLauncher = (signal: NodeJS.Signals) => source.emit(signal, 'launcher')

test.each([
  ['at once', 0],
  ['much later', 10 * aMoment],
])('a signal that the launcher heard too and tells %s is one signal', async (_, later) => {
  fromSystem('SIGINT')
  await clock.advance(later)
  fromLauncher('SIGINT')
  expect(heard).toEqual(['SIGINT'])
})

test('the launcher may be the first to tell', async () => {
  fromLauncher('SIGINT')
  await clock.advance(10 * aMoment)
  fromSystem('SIGINT')
  expect(heard).toEqual(['SIGINT'])
})

test.each([
  ['the process', [fromSystem]],
  ['the launcher', [fromLauncher]],
  ['both', [fromSystem, fromLauncher]],
])('a signal that %s heard twice, a moment apart, is two', async (_, tell) => {
  for (const each of tell) each('SIGINT')
  await clock.advance(aMoment)
  for (const each of tell) each('SIGINT')
  expect(heard).toEqual(['SIGINT', 'SIGINT'])
})

test.each([
  ['the process', [fromSystem, fromSystem, fromSystem]],
  ['the launcher', [fromLauncher, fromLauncher, fromLauncher]],
  ['the process once and the launcher twice', [fromSystem, fromLauncher, fromLauncher]],
])('a signal that reaches %s in a row is one', (_, tell) => {
  for (const each of tell) each('SIGINT')
  expect(heard).toEqual(['SIGINT'])
})

test('whoever keeps pressing Ctrl-C is heard again after a moment', async () => {
  for (let pressed = 0; pressed < 30; pressed++) {
    fromSystem('SIGINT')
    await clock.advance(aMoment / 30)
  }
  expect(heard).toEqual(['SIGINT', 'SIGINT'])
})

test('different signals are different', () => {
  fromSystem('SIGINT')
  fromSystem('SIGTERM')
  expect(heard).toEqual(['SIGINT', 'SIGTERM'])
})

test('a process listens to a signal from the first listener on: until then the signal ends it', () => {
  const other = new EventEmitter()
  const unheard = new ProcessSignals(other, clock.monotonic)
  expect(other.eventNames()).toEqual([])
  for (let listeners = 0; listeners < 2; listeners++) unheard.on('SIGINT', () => undefined)
  expect(other.eventNames()).toEqual(['SIGINT'])
  expect(other.listenerCount('SIGINT')).toBe(1)
})
