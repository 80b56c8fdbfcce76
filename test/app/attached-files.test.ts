import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { openTestApp, type TestApp } from '../../src/testing.ts'
import { testTool } from '../engine/engine.ts'

let heddle: TestApp
afterEach(() => heddle.remove())

/** A tool that writes a file which no survey sees, after it has read a page. */
function blindTool(write: () => void): Tool {
  return {
    ...(testTool('blind', 'unsafe', () => '') as Extract<Tool, { run: unknown }>),
    touchesFolder: true,
    async run() {
      write()
      const label = { integrity: 'untrusted' as const, sources: ['url:https://page.example/'] }
      return { status: 'ok', output: '', touched: { unseen: 'there are too many files' }, label }
    },
  }
}

test('an attached file is untrusted if an untrusted command may have written it, and no other is', async () => {
  let folder = ''
  const blind = blindTool(() => writeFileSync(join(folder, 'blind.txt'), 'orders'))
  const call = { calls: [{ name: 'blind', input: {} }] }
  heddle = await openTestApp({
    models: [scriptedModel([call, call, { text: 'done' }, { text: 'read' }])],
    tools: [blind],
  })
  folder = join(realpathSync(join(heddle.home, '..')), 'work')
  mkdirSync(folder)
  const worker = await heddle.work()
  const ask = async (session: string, path?: string) => {
    const data = Buffer.from('orders').toString('base64')
    const parts = path === undefined ? [] : [{ type: 'file' as const, path, mediaType: 'text/plain', data }]
    const { itemId, runId } = await heddle.submit(folder, { session, content: 'go on', parts })
    await heddle.answer(folder, itemId, new AbortController().signal)
    return heddle.show(folder, `run:${runId}`)
  }
  await ask('before')
  expect(await ask('main', 'blind.txt')).toMatchObject({ label: { integrity: 'untrusted' } })
  expect(await ask('other', '../elsewhere.txt')).toMatchObject({ label: { integrity: 'trusted' } })
  await worker.stop()
})
