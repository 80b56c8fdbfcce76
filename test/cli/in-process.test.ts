import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from './heddle.ts'

let one: TestHeddle
let two: TestHeddle
beforeEach(() => {
  ;[one, two] = [newHeddle(), newHeddle()]
})
afterEach(() => {
  one.remove()
  two.remove()
})

/** Files below a folder that this process has open. */
function openBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`)
      return file.startsWith(folder) ? [file] : []
    } catch {
      // The one that the directory itself was read with.
      return []
    }
  })
}

const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)])

test('a command that ended leaves no listener, no open file and no exit code in the process', async () => {
  const before = listeners()
  for (const args of [
    ['ask', 'hello'],
    ['log'],
    ['doctor'],
    ['backup', 'all'],
    ['restore', 'all'],
    ['undo', 'run:zzzzzz'],
  ])
    await one.run(...args)
  expect(listeners()).toEqual(before)
  expect(openBelow(join(one.home, '..'))).toEqual([])
  expect(process.exitCode).toBeUndefined()
})

test('a file that is named without its folder is taken from the folder of the command', async () => {
  await one.run('append', '--user', 'one', '--assistant', 'two')
  expect(await one.run('backup', 'all')).toMatchObject({ code: 0 })
  expect(existsSync(join(one.folder, 'all'))).toBe(true)
  expect(await one.json('--home', 'other', 'restore', 'all')).toMatchObject({ ok: true, turns: 1 })
  expect(existsSync(join(one.folder, 'other', 'heddle.db'))).toBe(true)
})

test('commands run side by side in different homes, each with its own words and folder', async () => {
  const talk = async (heddle: TestHeddle, name: string) => {
    const told = await Promise.all([
      heddle.run('append', '-s', name, '--user', `${name}?`, '--assistant', `${name}!`),
      heddle.runWith({ input: `${name}-key` }, 'secret', 'set', name),
      heddle.run('no-such-command'),
    ])
    return {
      codes: told.map(({ code }) => code),
      sessions: await heddle.run('sessions'),
      log: await heddle.run('log', name),
    }
  }
  const [first, second] = await Promise.all([talk(one, 'first'), talk(two, 'second')])
  for (const [told, own, other] of [
    [first, 'first', 'second'],
    [second, 'second', 'first'],
  ] as const) {
    expect(told.codes).toEqual([0, 0, 2])
    for (const { code, out } of [told.sessions, told.log]) {
      expect({ code, own: out.includes(own), other: out.includes(other) }).toEqual({ code: 0, own: true, other: false })
    }
  }
})
