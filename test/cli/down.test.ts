import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { answerPlainly, startProvider, type TestProvider } from '../../src/testing.ts'
import { hurriedClock } from '../setup/hurried-clock.ts'
import { newHeddle, type Started, type TestHeddle } from './heddle.ts'

vi.setConfig({ testTimeout: 120_000 })

let heddle: TestHeddle
let provider: TestProvider | undefined
const running: Started[] = []
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(async () => {
  for (const started of running.splice(0)) {
    started.stop('SIGKILL')
    await started.ended
  }
  await provider?.close()
  heddle.remove()
})

async function up(): Promise<Started> {
  const started = heddle.start('up')
  running.push(started)
  await started.says('running')
  return started
}

test('down ends the daemon, tells how many runs go on later, and they do', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  provider = await startProvider({
    answer: async (request) => {
      await held
      return answerPlainly(request)
    },
  })
  await heddle.run('init')
  const setting = `provider: openai-compatible, baseURL: "${provider.url}", model: tiny`
  writeFileSync(join(heddle.home, 'heddle.yaml'), `models:\n  main: { ${setting} }\n`)
  const daemon = await up()
  await heddle.run('ask', 'one', '--session', 'a', '--no-wait')
  await heddle.run('ask', 'two', '--session', 'b', '--no-wait')
  expect(await heddle.run('down')).toMatchObject({
    code: 0,
    out: `daemon stopped (process ${daemon.pid}); 2 runs continue when you start it again    heddle up\n`,
  })
  expect(await daemon.ended).toMatchObject({ code: 0 })
  release()
  const next = await up()
  await next.says((said) => said.split('run.ended').length === 3)
  expect(await heddle.json('down')).toEqual({ ok: true, pid: next.pid, runs: 0 })
})

test('down says that no daemon is running, also after a kill, and creates nothing', async () => {
  const none = { ok: true, pid: null, runs: 0 }
  expect(await heddle.json('down')).toEqual(none)
  expect(existsSync(heddle.home)).toBe(false)
  const daemon = await up()
  daemon.stop('SIGKILL')
  await daemon.ended
  expect(await heddle.json('down')).toEqual(none)
  expect((await heddle.run('down')).out).toBe('no daemon is running in this home\n')
})

test('down names the process of a daemon that does not answer, and what helps', async () => {
  const daemon = await up()
  daemon.stop('SIGSTOP')
  const { code, err } = await heddle.runWith({ clock: hurriedClock(10_000) }, 'down')
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(
      new RegExp(`the daemon \\(process ${daemon.pid}\\) does not answer[^]*kill -9 ${daemon.pid};`),
    ),
  })
})

test('down signals no process that is not a daemon of this machine', async () => {
  const daemon = await up()
  const { stopDaemonProcess } = await import('../../src/app/daemon-process.ts')
  // This process is none.
  expect(() => stopDaemonProcess(process.pid)).toThrow('another container or on another machine')
  expect(await heddle.json('down')).toMatchObject({ pid: daemon.pid })
})
