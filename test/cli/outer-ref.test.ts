import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { daemonClient } from '../../src/gateway/client.ts'
import { systemClock } from '../../src/system.ts'
import { newHeddle } from './heddle.ts'

const outerRef = 'telegram:42:1007'

test('show tells the id that a message has in the system it came from, after an import too', async () => {
  const [heddle, other] = [newHeddle(), newHeddle()]
  onTestFinished(() => Promise.all([heddle.remove(), other.remove()]).then(() => undefined))
  const daemon = heddle.start('up')
  await daemon.says('running')
  const client = daemonClient({ socket: join(heddle.home, 'run', 'heddle.sock') }, systemClock)
  const { itemId } = await client.submit(heddle.folder, { session: 'main', content: 'which port?', outerRef })
  const { turnId } = await client.answer(heddle.folder, itemId, new AbortController().signal)
  const shows = async ({ run, json }: typeof heddle) => [
    (await run('show', `turn:${turnId}`)).out.includes(`user (human, ${outerRef})\nwhich port?`),
    await json('show', `turn:${turnId}`),
  ]
  const shown = [true, { query: [{ content: 'which port?', outerRef }] }]
  expect(await shows(heddle)).toMatchObject(shown)
  writeFileSync(join(other.folder, 'all.jsonl'), (await heddle.run('export', 'main')).out)
  daemon.stop('SIGTERM')
  await daemon.ended
  expect(await other.run('import', 'all.jsonl')).toMatchObject({ code: 0 })
  expect(await shows(other)).toMatchObject(shown)
})
