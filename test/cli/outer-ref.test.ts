import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newHeddle } from './heddle.ts'

test('show tells the id that a message has in the system it came from, after an import too', async () => {
  const [heddle, other] = [newHeddle(), newHeddle()]
  onTestFinished(() => Promise.all([heddle.remove(), other.remove()]).then(() => undefined))
  await heddle.run('append', '--user', 'which port?', '--assistant', '8080')
  const line = JSON.parse((await heddle.run('export')).out)
  line.turn.queryMessages[0].outerRef = 'telegram:42:1007'
  writeFileSync(join(other.folder, 'all.jsonl'), `${JSON.stringify(line)}\n`)
  expect(await other.run('import', 'all.jsonl')).toMatchObject({ code: 0 })
  expect((await other.run('show', `turn:${line.turn.id}`)).out).toContain('user (human, telegram:42:1007)\nwhich port?')
  expect(await other.json('show', `turn:${line.turn.id}`)).toMatchObject({ query: [{ outerRef: 'telegram:42:1007' }] })
})
