import { afterEach, beforeEach, describe, expect } from 'vitest'
import type { MemoryDraft } from '../../src/domain/memory.ts'
import { forget } from '../../src/memory/forget.ts'
import { recall } from '../../src/memory/recall.ts'
import { remember, rewrite } from '../../src/memory/remember.ts'
import {
  addScore,
  archiveMemories,
  archiveMemory,
  findMemory,
  listMemories,
} from '../../src/store/knowledge/memories.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { countStatements } from '../setup/statement-counter.ts'
import { testOn } from '../setup/test-on.ts'

const day = 86_400_000
const trusted = { integrity: 'trusted' as const, sources: [] }

describe.each(databases)('memories on %s', (database) => {
  const test = testOn(database)
  let runtime: TestRuntime
  beforeEach(async () => {
    runtime = await newTestRuntime(database)
  })
  afterEach(() => runtime.remove())

  const keep = (content: string, more: Partial<MemoryDraft> = {}, now = 0) =>
    runtime.store.write('submit', (tx) =>
      remember(tx, { content, source: 'user', label: trusted, ...more }, now, 100_000),
    )
  const find = (question: string, now = 0) => runtime.store.read((rows) => recall(rows, question, now, 5))
  const found = async (question: string) => (await find(question)).map(({ memory }) => memory.content)

  test('what shares words is found, whatever its spelling', async () => {
    await keep('The staging server listens on port 8443')
    await keep('Releases are cut on Tuesdays')
    await keep('Rückmeldungen gehen an Zoë')
    await keep('発売日は五月です')
    expect(await found('which PORTS does the stagingServer use?')).toEqual(['The staging server listens on port 8443'])
    expect(await found('release')).toEqual(['Releases are cut on Tuesdays'])
    expect(await found('ruckmeldung an zoe')).toEqual(['Rückmeldungen gehen an Zoë'])
    expect(await found('発売日')).toEqual(['発売日は五月です'])
  })

  test.each([
    '',
    ' ',
    '"',
    "'; DROP TABLE memories; --",
    'a AND (b OR',
    '* NEAR/2 -x:',
    '🙂',
    '\u0000\ud800',
    '?:{}[]^~',
  ])('no text is a query error: %j', async (odd) => {
    await keep('something known 🙂')
    expect(Array.isArray(await find(odd))).toBe(true)
  })

  test('what is said again strengthens the one that is there', async () => {
    const first = await keep('The build uses node 24', { tags: ['build'] })
    const again = await keep('the build uses Node 24.', { tags: ['node'] })
    expect(again).toMatchObject({ id: first.id, isMerged: true })
    const memory = await runtime.store.read((rows) => findMemory(rows, first.id))
    expect(memory).toMatchObject({ score: 2, tags: ['build', 'node'] })
  })

  test.each([
    ['Ada owns the billing service', 'Ada owns the shipping service'],
    ['Ada is on holiday in May', 'Ada is the owner of the billing service'],
  ])('%j and %j may both hold', async (older, newer) => {
    await keep(older)
    expect((await keep(newer)).superseded).toEqual([])
    expect((await found(`${older} ${newer}`)).sort()).toEqual([older, newer].sort())
  })

  test('what strangers said changes nothing that is trusted, under its number neither', async () => {
    await keep('The harbour opens at nine')
    const stranger = { source: 'agent' as const, label: { integrity: 'untrusted' as const, sources: ['url:x'] } }
    for (const change of [{ content: 'The harbour opens at ten' }, { tags: ['late'] }])
      await expect(
        runtime.store.write('submit', (tx) => rewrite(tx, 1, change, stranger, 1, 100)),
      ).rejects.toMatchObject({
        code: 'not_trusted',
      })
    expect(await found('when does the harbour open?')).toEqual(['The harbour opens at nine'])
  })

  test('one that is changed comes back from the archive, with all that belongs to it', async () => {
    await keep('The tower lamp is green')
    await runtime.store.write('submit', (tx) => archiveMemory(tx, 1))
    const own = { source: 'user' as const, label: trusted }
    await runtime.store.write('submit', (tx) => rewrite(tx, 1, { tags: ['light'] }, own, 1, 100))
    expect(await found('which light?')).toEqual(['The tower lamp is green'])
    await runtime.store.write('submit', (tx) => archiveMemory(tx, 1))
    const next = await runtime.store.write('submit', (tx) =>
      rewrite(tx, 1, { content: 'The lamp is violet' }, own, 1, 100),
    )
    expect(await runtime.store.read((rows) => findMemory(rows, 1))).toMatchObject({ supersededBy: next.id })
    expect(await found('which lamp?')).toEqual(['The lamp is violet'])
  })

  test('what is alike and not the same stays, and is pointed out', async () => {
    const first = await keep('The invoice export writes one CSV file per customer every night')
    const second = await keep('The invoice export writes one CSV file per customer, with amounts in cents and a header')
    expect(second.superseded).toEqual([])
    expect(second.near.map(({ id }) => id)).toEqual([first.id])
  })

  test('a correction takes the place of what it corrects, and nobody meets that again', async () => {
    const { id } = await keep('Customers are billed monthly')
    const next = await runtime.store.write('submit', (tx) =>
      rewrite(tx, id, { content: 'Invoices go out twice a year' }, { source: 'user', label: trusted }, 0, 100),
    )
    expect(await found('customers billed monthly invoices')).toEqual(['Invoices go out twice a year'])
    expect(await runtime.store.read((rows) => listMemories(rows, { limit: 9 }))).toMatchObject([{ id: next.id }])
  })

  test('what proved right and what is new comes first', async () => {
    const old = await keep('The red box has the backup of the shop', {}, 0)
    const fresh = await keep('Every night a backup of all mails goes into a blue box', {}, 400 * day)
    const order = async () => (await find('backup box', 400 * day)).map(({ memory }) => memory.id)
    expect(await order()).toEqual([fresh.id, old.id])
    await runtime.store.write('submit', (tx) => addScore(tx, old.id, 9))
    expect(await order()).toEqual([old.id, fresh.id])
  })

  test('forgetting wipes it and leaves what it had replaced readable, which can be forgotten by itself', async () => {
    const first = await keep('The port is 8080')
    const second = await keep('The port is 9090', { replaces: first.id })
    const other = await keep('The port of the proxy is 7070')
    const forgetIt = (id: number) => runtime.store.write('submit', (tx) => forget(tx, id, 5))
    expect(await forgetIt(second.id)).toEqual({
      id: second.id,
      narratives: [],
      older: [],
      kept: [first.id],
      runs: [],
      near: [],
    })
    expect(await found('port 8080 9090')).toEqual(['The port of the proxy is 7070'])
    const memory = (id: number) => runtime.store.read((rows) => findMemory(rows, id))
    expect(await memory(second.id)).toMatchObject({ content: '', forgottenAt: 5 })
    expect(await memory(first.id)).toMatchObject({ content: 'The port is 8080', forgottenAt: null })
    expect(await forgetIt(first.id)).toMatchObject({ id: first.id, older: [], kept: [] })
    expect(await memory(first.id)).toMatchObject({ content: '', forgottenAt: 5 })
    expect(await memory(other.id)).toMatchObject({ forgottenAt: null })
    await expect(forgetIt(second.id)).rejects.toThrow('was forgotten')
  })

  test('forgetting names what has the same words, also in the archive and where it was replaced', async () => {
    const archived = await keep('The door code is 4711')
    await runtime.store.write('submit', (tx) => archiveMemory(tx, archived.id))
    const replaced = await keep('The door code is 4711')
    const replacement = await keep('The door has no code any more', { replaces: replaced.id })
    const again = await keep('the door code is 4711')
    const gone = await runtime.store.write('submit', (tx) => forget(tx, again.id, 5))
    expect(gone.near.map(({ id }) => id)).toEqual(expect.arrayContaining([archived.id, replaced.id]))
    await runtime.store.write('submit', async (tx) => {
      for (const { id } of gone.near) await forget(tx, id, 6)
    })
    expect(await runtime.store.read((rows) => findMemory(rows, archived.id))).toMatchObject({ content: '' })
    expect(replacement.id).not.toBe(again.id)
  })

  test('forgetting names what says nearly the same in the archive and among what was replaced, the same statement first', async () => {
    const hidden = async (content: string) => {
      const { id } = await keep(content)
      await runtime.store.write('submit', (tx) => archiveMemory(tx, id))
      return id
    }
    const other = await hidden('The code of the cellar door: 4711')
    const spelled = await hidden('Äpfel liegen bei Herrn Mueller')
    const dotted = await hidden('the door code is 4711.')
    await hidden('Bread is baked at night')
    const replaced = await keep('The door code of the cellar is 4711')
    await keep('The cellar is open', { replaces: replaced.id })
    const door = await keep('The door code is 4711')
    const apples = await keep('äpfel liegen bei herrn müller')
    const nearOf = async (id: number) =>
      (await runtime.store.write('submit', (tx) => forget(tx, id, 9))).near.map((each) => each.id)
    const [first, ...others] = await nearOf(door.id)
    expect([first, ...others.sort()]).toEqual([dotted, other, replaced.id])
    expect(await nearOf(apples.id)).toEqual([spelled])
  })

  test('what counts least goes to the archive, where it can be read and is not found', async () => {
    const first = await keep('alpha lives in the north')
    const second = await keep('beta lives in the south')
    await runtime.store.write('submit', (tx) => addScore(tx, first.id, 3))
    expect(await runtime.store.write('submit', (tx) => archiveMemories(tx, 1))).toBe(1)
    expect(await found('alpha beta')).toEqual(['alpha lives in the north'])
    expect(await runtime.store.read((rows) => findMemory(rows, second.id))).toMatchObject({ id: second.id })
  })

  test('asked to, forgetting reaches what was replaced in the archive, and what that had replaced', async () => {
    const first = await keep('The port is 7070')
    const second = await keep('The port is 8080', { replaces: first.id })
    const last = await keep('The port is 9090', { replaces: second.id })
    await runtime.store.write('submit', async (tx) => {
      await archiveMemory(tx, first.id)
      await archiveMemory(tx, second.id)
    })
    const gone = await runtime.store.write('submit', (tx) => forget(tx, last.id, 5, { older: true }))
    expect(gone).toMatchObject({ older: [second.id, first.id], kept: [] })
    for (const { id } of [first, second, last])
      expect(await runtime.store.read((rows) => findMemory(rows, id))).toMatchObject({ content: '', forgottenAt: 5 })
  })

  test('summaries are read once, however many memories are forgotten together', async () => {
    let last = await keep('The port is 7000')
    for (let port = 7001; port < 7006; port++) last = await keep(`The port is ${port}`, { replaces: last.id })
    const { statements } = await countStatements(() =>
      runtime.store.write('submit', (tx) => forget(tx, last.id, 5, { older: true })),
    )
    expect(statements.filter((sql) => /^select "id", "topic", "summary" from/i.test(sql))).toHaveLength(1)
  })

  test('nothing, and too much, is refused with what to do', async () => {
    await expect(keep('  ')).rejects.toThrow('nothing to remember')
    await expect(keep('x'.repeat(30_000))).rejects.toThrow('at most')
  })
})
