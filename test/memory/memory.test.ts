import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MemoryDraft } from '../../src/domain/memory.ts'
import { forget } from '../../src/memory/forget.ts'
import { recall } from '../../src/memory/recall.ts'
import { remember, rewrite } from '../../src/memory/remember.ts'
import { addScore, archiveMemories, archiveMemory, findMemory, listMemories } from '../../src/store/memories.ts'
import { databases, newWorld, type TestWorld } from '../setup/places.ts'

const day = 86_400_000
const trusted = { integrity: 'trusted' as const, sources: [] }

describe.each(databases)('memories on %s', (database) => {
  let world: TestWorld
  beforeEach(async () => {
    world = await newWorld(database)
  })
  afterEach(() => world.remove())

  const keep = (content: string, more: Partial<MemoryDraft> = {}, now = 0) =>
    world.store.write('submit', (tx) =>
      remember(tx, { content, source: 'user', label: trusted, ...more }, now, 100_000),
    )
  const find = (question: string, now = 0) => world.store.read((rows) => recall(rows, question, now, 5))
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
    const memory = await world.store.read((rows) => findMemory(rows, first.id))
    expect(memory).toMatchObject({ score: 2, tags: ['build', 'node'] })
  })

  test.each([
    ['The port is 8080', 'The port is 9090'],
    ['Deploys need approval', 'Deploys do not need approval'],
    ['The owner of the billing service is Ada', 'The owner of the billing service is Grace'],
    ['Default branch: master', 'Default branch: main'],
    ['Node 20 builds the web page', 'Node 24 builds the web page'],
  ])('%j is superseded by %j: linked, readable, never found beside it', async (older, newer) => {
    const first = await keep(older)
    const second = await keep(newer)
    expect(second.superseded.map(({ id }) => id)).toEqual([first.id])
    expect(await found(newer)).toEqual([newer])
    expect(await world.store.read((rows) => findMemory(rows, first.id))).toMatchObject({
      content: older,
      supersededBy: second.id,
    })
  })

  test.each([
    ['Ada owns the billing service', 'Ada owns the shipping service'],
    ['Ada is on holiday in May', 'Ada is the owner of the billing service'],
  ])('%j and %j may both hold', async (older, newer) => {
    await keep(older)
    expect((await keep(newer)).superseded).toEqual([])
    expect((await found(`${older} ${newer}`)).sort()).toEqual([older, newer].sort())
  })

  test('what strangers say replaces nothing that is trusted, and what is trusted replaces what they said', async () => {
    const strange = { label: { integrity: 'untrusted' as const, sources: ['url:https://a.example'] } }
    const first = await keep('The port is 8080')
    const other = await keep('The port is 9090', strange)
    expect(other.superseded).toEqual([])
    expect(other.near.map(({ id }) => id)).toEqual([first.id])
    expect((await found('port')).sort()).toEqual(['The port is 8080', 'The port is 9090'])
    const again = await keep('The port is 9090')
    expect(again.superseded.map(({ id }) => id).sort()).toEqual([first.id, other.id])
    expect((await find('port'))[0]?.memory.label.integrity).toBe('trusted')
  })

  test('what many say at once is kept once, and of what cannot all hold one counts', async () => {
    await Promise.all(Array.from({ length: 12 }, () => keep('Backups are made at night')))
    const ports = Array.from({ length: 12 }, (_, at) => `The harbour listens on port ${8001 + at}`)
    await Promise.all(ports.map((content) => keep(content)))
    const left = await world.store.read((rows) => listMemories(rows, { limit: 50 }))
    expect(left.map(({ content }) => content.replace(/\d+/, 'N'))).toEqual([
      'The harbour listens on port N',
      'Backups are made at night',
    ])
    expect(left[1]?.score).toBe(12)
  })

  test('what strangers said changes nothing that is trusted, under its number neither', async () => {
    await keep('The harbour opens at nine')
    const stranger = { source: 'agent' as const, label: { integrity: 'untrusted' as const, sources: ['url:x'] } }
    for (const change of [{ content: 'The harbour opens at ten' }, { tags: ['late'] }])
      await expect(world.store.write('submit', (tx) => rewrite(tx, 1, change, stranger, 1))).rejects.toMatchObject({
        code: 'not_trusted',
      })
    expect(await found('when does the harbour open?')).toEqual(['The harbour opens at nine'])
  })

  test('one that is changed comes back from the archive, with all that belongs to it', async () => {
    await keep('The tower lamp is green')
    await world.store.write('submit', (tx) => archiveMemory(tx, 1))
    const own = { source: 'user' as const, label: trusted }
    await world.store.write('submit', (tx) => rewrite(tx, 1, { tags: ['light'] }, own, 1))
    expect(await found('which light?')).toEqual(['The tower lamp is green'])
    await world.store.write('submit', (tx) => archiveMemory(tx, 1))
    const next = await world.store.write('submit', (tx) => rewrite(tx, 1, { content: 'The lamp is violet' }, own, 1))
    expect(await world.store.read((rows) => findMemory(rows, 1))).toMatchObject({ supersededBy: next })
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
    const next = await world.store.write('submit', (tx) =>
      rewrite(tx, id, { content: 'Invoices go out twice a year' }, { source: 'user', label: trusted }, 0),
    )
    expect(await found('customers billed monthly invoices')).toEqual(['Invoices go out twice a year'])
    expect(await world.store.read((rows) => listMemories(rows, { limit: 9 }))).toMatchObject([{ id: next }])
  })

  test('what proved right and what is new comes first', async () => {
    const old = await keep('The red box has the backup of the shop', {}, 0)
    const fresh = await keep('Every night a backup of all mails goes into a blue box', {}, 400 * day)
    const order = async () => (await find('backup box', 400 * day)).map(({ memory }) => memory.id)
    expect(await order()).toEqual([fresh.id, old.id])
    await world.store.write('submit', (tx) => addScore(tx, old.id, 9))
    expect(await order()).toEqual([old.id, fresh.id])
  })

  test('forgetting wipes it with all its older words', async () => {
    const first = await keep('The port is 8080')
    const second = await keep('The port is 9090')
    const gone = await world.store.write('submit', (tx) => forget(tx, second.id, 5))
    expect(gone).toEqual({ id: second.id, narratives: [], older: [first.id], runs: [] })
    expect(await found('port 8080 9090')).toEqual([])
    for (const id of [first.id, second.id])
      expect(await world.store.read((rows) => findMemory(rows, id))).toMatchObject({ content: '', forgottenAt: 5 })
    await expect(world.store.write('submit', (tx) => forget(tx, second.id, 6))).rejects.toThrow('was forgotten')
  })

  test('what counts least goes to the archive, where it can be read and is not found', async () => {
    const first = await keep('alpha lives in the north')
    const second = await keep('beta lives in the south')
    await world.store.write('submit', (tx) => addScore(tx, first.id, 3))
    expect(await world.store.write('submit', (tx) => archiveMemories(tx, 1))).toBe(1)
    expect(await found('alpha beta')).toEqual(['alpha lives in the north'])
    expect(await world.store.read((rows) => findMemory(rows, second.id))).toMatchObject({ id: second.id })
  })

  test('forgetting reaches the older words in the archive, and those behind them', async () => {
    const ids = []
    for (const port of [7070, 8080, 9090]) ids.push((await keep(`The port is ${port}`)).id)
    const [first = 0, second = 0, last = 0] = ids
    await world.store.write('submit', async (tx) => {
      await archiveMemory(tx, first)
      await archiveMemory(tx, second)
    })
    const gone = await world.store.write('submit', (tx) => forget(tx, last, 5))
    expect(gone.older).toEqual([second, first])
    for (const id of ids)
      expect(await world.store.read((rows) => findMemory(rows, id))).toMatchObject({ content: '', forgottenAt: 5 })
  })

  test('nothing, and too much, is refused with what to do', async () => {
    await expect(keep('  ')).rejects.toThrow('nothing to remember')
    await expect(keep('x'.repeat(30_000))).rejects.toThrow('at most')
  })
})
