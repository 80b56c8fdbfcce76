import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { UserRole } from '../../src/domain/access/principal.ts'
import { scriptedModel, type TestApp } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'
import { openWorkingApp } from './working-app.ts'

const never = new AbortController().signal

let heddle: TestApp
let folder: string
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-search-')))
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    const path = /^write (\S+)/.exec(last?.content ?? '')?.[1]
    return path
      ? { calls: [{ name: 'write_file', input: { path, content: `The crimson vessel, by ${path}.` } }] }
      : { text: last?.role === 'tool' ? 'done' : `heard of the vessel: ${last?.content}` }
  })
  heddle = await openWorkingApp({ models: [model] })
})
afterEach(async () => {
  await heddle.remove()
  rmSync(folder, { recursive: true, force: true })
})

async function user(id: string, role: UserRole): Promise<App> {
  await heddle.addUser(id, { role, folder, trusted: true })
  const { token } = await heddle.createToken(id)
  return heddle.as(await heddle.identify(token))
}
async function ask(app: App, content: string) {
  const { itemId } = await app.submit(folder, { session: 'main', content })
  return app.answer(folder, itemId, never)
}
/** Lets an agent write a file; the owner allows it. */
async function write(app: App, path: string) {
  const { itemId } = await app.submit(folder, { session: 'main', content: `write ${path}` })
  await untilSo(async () => (await heddle.approvals()).length > 0)
  const [question] = await heddle.approvals()
  await heddle.decide(`approval:${question?.id}`, { answer: 'once', hash: question?.hash ?? '' })
  await app.answer(folder, itemId, never)
}
const found = async (app: App, query: string, more = {}) =>
  (await app.search(folder, { query, ...more })).rows.map(({ kind, passage }) => `${kind}: ${passage}`).sort()

test('each finds own turns; an admin also those of others, but no files of theirs', async () => {
  await write(heddle, 'owner.txt')
  const admin = await user('ann', 'admin')
  const mia = await user('mia', 'public')
  const tom = await user('tom', 'operator')
  await ask(heddle, 'I am the owner')
  await ask(mia, 'I am mia')
  await ask(tom, 'I am tom')
  const [ofOwner, ofMia, ofTom] = ['the owner', 'mia', 'tom'].map((who) => `turn: heard of the vessel: I am ${who}`)
  expect(await found(mia, 'vessel')).toEqual([ofMia])
  expect(await found(tom, 'vessel')).toEqual([ofTom])
  expect(await found(admin, 'vessel')).toEqual([ofMia, ofOwner, ofTom].sort())
  expect(await found(heddle, 'vessel')).toEqual(
    [ofMia, ofOwner, ofTom, 'file: The crimson vessel, by owner.txt.'].sort(),
  )
  expect((await mia.search(folder, { query: 'vessel' })).unindexed).toBeUndefined()
  await expect(mia.search(folder, { query: 'vessel', session: 'user:tom:main' })).rejects.toMatchObject({
    code: 'not_found',
  })
  expect(await found(mia, 'vessel', { session: 'main' })).toEqual([ofMia])
})

test('what the user changes in a file that an agent wrote for another is the owner’s', async () => {
  const admin = await user('ann', 'admin')
  await write(admin, 'shared.txt')
  expect(await found(admin, 'crimson')).toEqual(['file: The crimson vessel, by shared.txt.'])
  writeFileSync(join(folder, 'shared.txt'), 'The crimson vessel is sold in secret.')
  expect(await found(admin, 'crimson')).toEqual([])
  expect(await found(heddle, 'crimson')).toEqual(['file: The crimson vessel is sold in secret.'])
})

test('a folder may be named by a link to it', async () => {
  await ask(heddle, 'I am here')
  const link = `${folder}-link`
  const draft = { query: [{ content: 'q' }], response: { content: 'another vessel' } }
  await heddle.append('/elsewhere', { session: 'main', draft })
  symlinkSync(folder, link)
  try {
    const { rows } = await heddle.search(link, { query: 'vessel', session: 'main' })
    expect(rows.map(({ passage }) => passage)).toEqual(['heard of the vessel: I am here'])
  } finally {
    rmSync(link)
  }
})

test('memories and notes of the home are not found', async () => {
  await heddle.remember({ content: 'the vessel is crimson' })
  writeFileSync(join(heddle.home, 'USER.md'), 'My vessel is crimson.')
  expect(await found(heddle, 'crimson')).toEqual([])
})
