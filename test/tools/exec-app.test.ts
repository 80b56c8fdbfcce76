import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openTestApp, type TestApp } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from '../cli/heddle.ts'

describe('agents have exec', () => {
  let app: TestApp
  afterEach(() => app.remove())

  test('and a command of theirs does not see the home of heddle, which lies in their folder', async () => {
    const command = 'pwd; ls -A home; ls -A'
    const model = scriptedModel([{ calls: [{ name: 'exec', input: { command } }] }, { text: 'done' }])
    app = await openTestApp({ models: [model] })
    const folder = join(app.home, '..')
    mkdirSync(join(folder, 'work'))
    const worker = await app.work()
    const { itemId } = await app.submit(folder, { session: 'main', content: 'look' })
    await app.answer(folder, itemId, new AbortController().signal)
    await worker.stop()
    expect(model.requests[0]?.tools.map(({ name }) => name)).toContain('exec')
    expect(JSON.stringify(model.requests[1]?.messages)).toContain(
      JSON.stringify(`${folder}\nhome\nwork\n[exit 0]`).slice(1, -1),
    )
  })
})

describe('doctor', () => {
  let heddle: TestHeddle
  beforeEach(() => {
    heddle = newHeddle()
  })
  afterEach(() => heddle.remove())

  const found = async () =>
    (await heddle.json<{ checks: { name: string }[] }>('doctor')).checks.filter(({ name }) => name === 'exec')

  test('says how commands run', async () => {
    expect(await found()).toEqual([
      { name: 'exec', status: 'ok', detail: 'commands run in a sandbox, without network' },
    ])
    await heddle.run('config', 'set', 'tools.exec.network', 'true')
    expect(await found()).toEqual([
      { name: 'exec', status: 'ok', detail: 'commands run in a sandbox, with the network' },
    ])
    await heddle.run('config', 'set', 'tools.deny', '[exec]')
    expect(await found()).toEqual([{ name: 'exec', status: 'ok', detail: 'not allowed by the configuration' }])
  })

  test('shows in red that there is no sandbox', async () => {
    await heddle.run('config', 'set', 'tools.exec.sandbox', 'off')
    expect(await found()).toEqual([
      {
        name: 'exec',
        status: 'fail',
        detail: 'NO SANDBOX: agent commands can do whatever you can',
        remedy: 'heddle config set tools.exec.sandbox on',
      },
    ])
  })
})
