import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Memory } from '../../src/domain/memory.ts'
import { fileHead, memorySection, readMemoryFile } from '../../src/memory/memory-file.ts'
import { remember, rewrite } from '../../src/memory/remember.ts'
import { exportMemories, importMemories } from '../../src/memory/transfer.ts'
import { addScore, archiveMemory, findMemory, listArchived, listMemories } from '../../src/store/knowledge/memories.ts'
import { insertImported } from '../../src/store/knowledge/memory-import.ts'
import { databases, newTestRuntime, type TestRuntime } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'

const now = Date.parse('2026-03-01T00:00:00.000Z')
const trusted = { integrity: 'trusted' as const, sources: [] }

/** What people and programs write, and what could be taken for the lines of our own file. */
const oddTexts = [
  '🙂👩‍👩‍👧‍👦🇩🇪 e\u0301',
  '発売日は五月です\n\n次の行',
  'x'.repeat(20_000),
  '語'.repeat(20_000),
  '## memory:1\n\nnot a heading\n\n<!-- memory {"score":9,"integrity":"trusted"} -->',
  '\\## memory:1\n\\\\<!-- memory {} -->\n\\\\\\## memory',
  '<!-- memory {} -->',
  '<!-- heddle memories {"version":1,"home":"other"} -->',
  '<!-- memory of an unfinished comment',
  '---\nname: x\ntags: [a]\n---\n# What heddle knows',
  '```ts\n## memory:3\nconst a = `\\``\n```\n~~~\n```',
  '```\nopen to the end',
  'a\r\nb\rc\u2028d\u0085e\vf\u001b[31mg',
  '- a list\n  - inside\n\n\n\n1. and\ta tab\n\n# heading\n## another\n## memories of summer',
  '-->',
  '\u202eright to left',
]

const pieces = fc.oneof(
  fc.constantFrom(...oddTexts.filter(({ length }) => length < 1000)),
  fc.constantFrom(
    '\n',
    '\n\n',
    '\\',
    '## memory',
    '## memory:1',
    '<!-- memory',
    ' -->',
    '{}',
    '```',
    '---',
    '\r\n',
    ' ',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
const text = fc
  .oneof(
    fc.constantFrom(...oddTexts),
    fc.array(pieces, { minLength: 1, maxLength: 12 }).map((some) => some.join('')),
  )
  .map((some) => some.replaceAll('\0', '').toWellFormed().trim())
  .filter((some) => some !== '')
const word = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).map((some) => some.replaceAll('\0', '0'))
const words = fc.uniqueArray(word, { maxLength: 4 })
const moment = fc.integer({ min: 0, max: now })
const id = fc.constantFrom(null, '06b0000000000000007k', '06c00000000000000abc')
const number = fc.option(fc.integer({ min: 1, max: 99 }))
const memory: fc.Arbitrary<Memory> = fc.record({
  id: fc.constant(1),
  content: text,
  tags: words,
  keywords: words,
  score: fc.integer({ min: -50, max: 50 }),
  source: fc.constantFrom('user', 'agent', 'import'),
  label: fc.record({
    integrity: fc.constantFrom('trusted', 'untrusted'),
    sources: words.map((some) => ['url:https://a.example', ...some].toSorted()),
  }),
  runId: id,
  turnId: id,
  taskId: number,
  resultId: number,
  narrativeId: number,
  createdAt: moment,
  saidAt: moment,
  recalledAt: moment,
  supersededBy: fc.constant(null),
  forgottenAt: fc.constant(null),
})

const fileOf = (memories: Memory[], home: string | null = null) =>
  fileHead({ home, exportedAt: now }) + memories.map((memory) => memorySection(memory)).join('')

test('whatever a memory says, its file tells it word for word, also after a Windows editor', () => {
  fc.assert(
    fc.property(fc.array(memory, { minLength: 1, maxLength: 4 }), (memories) => {
      const whole = memories.map(({ id: _, supersededBy: __, forgottenAt: ___, ...said }) => ({
        ...said,
        // Said once, it has one date.
        saidAt: said.saidAt === said.createdAt ? undefined : said.saidAt,
        isArchived: false,
      }))
      const file = fileOf(memories, 'here')
      expect(readMemoryFile(file, 'm.md')).toEqual({ home: 'here', memories: whole })
      const fromWindows = `\ufeff${file.replace(/\r?\n/g, '\r\n')}`
      const ended = whole.map((said) => ({ ...said, content: said.content.replaceAll('\r\n', '\n') }))
      expect(readMemoryFile(fromWindows, 'm.md').memories).toEqual(ended)
    }),
    { numRuns: 300 },
  )
})

test('no line of ours ends its comment early or hides something', () => {
  const [sample] = fc.sample(memory, { seed: 1, numRuns: 1 })
  const section = memorySection({ ...(sample as Memory), tags: ['--><script>', '\u202egnp'], content: 'x' })
  expect(section.match(/-->/g)).toHaveLength(1)
  expect(section).not.toContain('\u202e')
})

test('a section by hand needs its words and an empty line of ours', () => {
  expect(readMemoryFile('## memory\nReleases are on Tuesdays\n<!-- memory {} -->', 'm.md')).toEqual({
    home: null,
    memories: [
      {
        content: 'Releases are on Tuesdays',
        tags: [],
        keywords: [],
        score: 1,
        source: 'import',
        label: trusted,
        createdAt: undefined,
        saidAt: undefined,
        recalledAt: undefined,
        runId: null,
        turnId: null,
        taskId: null,
        resultId: null,
        narrativeId: null,
        isArchived: false,
      },
    ],
  })
})

test.each([
  ['', 'm.md contains no memory'],
  ['# My diary\n\nDear diary', 'm.md contains no memory'],
  ['## memory:1\n\nwords', 'm.md:1 the comment line below this memory is missing'],
  ['# x\n## memory:1\nwords\n## memory:2\nmore\n<!-- memory {} -->', 'm.md:2 the comment line below'],
  ['<!-- memory {} -->', 'm.md:1 this line belongs to no memory'],
  ['## memory:1\nwords\n<!-- memory {} -->\n<!-- memory {} -->', 'm.md:4 this line belongs to no memory'],
  ['## memory:1\nwords\n<!-- memory {} -->\n\nlost words', 'm.md:5 this text belongs to no memory'],
  ['## memory:1\n\n<!-- memory {} -->', 'm.md:1 there is nothing to remember'],
  [`## memory:1\n${'x'.repeat(20_001)}\n<!-- memory {} -->`, 'm.md:1 a memory has at most 20000 characters'],
  ['## memory:1\na\0b\n<!-- memory {} -->', 'm.md:1 this memory contains a NUL character'],
  ['## memory:1\nwords\n<!-- memory {"score":} -->', 'm.md:3 this line cannot be read: its content is not JSON'],
  ['## memory:1\nwords\n<!-- memory {} ', 'm.md:3 this line cannot be read'],
  ['## memory:1\nwords\n<!-- memory {"score":"high"} -->', 'm.md:3 this line cannot be read: score: '],
  ['## memory:1\nwords\n<!-- memory {"integrity":"sure"} -->', 'm.md:3 this line cannot be read: integrity: '],
  ['## memory:1\nwords\n<!-- memory {"created":"yesterday"} -->', 'm.md:3 this line cannot be read: created: '],
  ['## memory:1\nwords\n<!-- memory {"colour":"red"} -->', 'm.md:3 this line cannot be read: '],
  ['<!-- heddle memories {"version":2} -->\n', 'm.md:1 a newer heddle wrote this file'],
])('%j is refused with its line', (broken, message) => {
  expect(() => readMemoryFile(broken, 'm.md')).toThrow(message)
})

describe.each(databases)('memories as files on %s', (database) => {
  const test = testOn(database)
  let from: TestRuntime
  let to: TestRuntime
  beforeEach(async () => {
    from = await newTestRuntime(database)
    to = await newTestRuntime(database)
  })
  afterEach(() => Promise.all([from.remove(), to.remove()]))

  const keep = (runtime: TestRuntime, content: string, more = {}) =>
    runtime.store.write('submit', (tx) => remember(tx, { content, source: 'user', label: trusted, ...more }, now, 1000))
  const all = (runtime: TestRuntime) => runtime.store.read((rows) => listMemories(rows, { limit: 1000 }))
  const exported = async ({ store }: TestRuntime, options = {}) => {
    let file = ''
    for await (const piece of exportMemories(store, now, { markSecrets: (value) => value, ...options })) file += piece
    return file
  }
  const bring = (runtime: TestRuntime, file: string, trust = false, maxMemories = 1000) =>
    importMemories(runtime.store, file, { name: 'm.md', trust, now, maxMemories, markedParts: (text) => [text] })

  test('what a file brings too much goes to the archive, the least of it first, and is told', async () => {
    for (const name of ['alpha', 'beta', 'gamma']) await keep(from, `${name} lives in the north`)
    await from.store.write('submit', (tx) => addScore(tx, 1, 3))
    const report = await bring(to, await exported(from), true, 2)
    expect(report).toMatchObject({ imported: [1, 2, 3], archived: 1 })
    expect((await all(to)).map(({ content }) => content)).toEqual([
      'gamma lives in the north',
      'alpha lives in the north',
    ])
    expect(await to.store.read((rows) => findMemory(rows, 2))).toMatchObject({ content: 'beta lives in the north' })
  })

  test('of equal ones the owner’s own stay, and what the file brought goes to the archive', async () => {
    await keep(from, 'beta lives in the north')
    await keep(to, 'alpha lives in the north')
    const later = (await exported(from)).replaceAll(/"(created|recalled)":"[^"]*"/g, '"$1":"2026-11-20T00:00:00.000Z"')
    await to.store.write('submit', (tx) => tx.run(tx.build.updateTable('memories').set({ recalled_at: 1 })))
    expect(await bring(to, later, true, 1)).toMatchObject({ imported: [2], archived: 1 })
    expect((await all(to)).map(({ content }) => content)).toEqual(['alpha lives in the north'])
  })

  test('as many come in as an export with the archive has, also where both have the same words', async () => {
    await keep(from, 'alpha lives in the north')
    await from.store.write('submit', (tx) => archiveMemory(tx, 1))
    await keep(from, 'alpha lives in the north')
    await keep(from, 'alpha lives in the north', {
      label: { integrity: 'untrusted', sources: ['url:https://a.example'] },
    })
    const file = await exported(from, { all: true })
    expect(file.match(/^## memory/gm)).toHaveLength(3)
    expect(await bring(to, file, true)).toMatchObject({ imported: [1, 2, 3], skipped: 0 })
    expect((await exported(to, { all: true })).match(/^## memory/gm)).toHaveLength(3)
    expect(await bring(to, file, true)).toMatchObject({ imported: [], skipped: 3 })
  })

  test('the archive is exported if asked for, marked as such, and comes back as an archive', async () => {
    for (const name of ['alpha', 'beta']) await keep(from, `${name} lives in the north`)
    await from.store.write('submit', (tx) => archiveMemory(tx, 1))
    expect(await exported(from)).not.toContain('alpha')
    const file = await exported(from, { all: true })
    expect(file).toMatch(/alpha lives in the north\n\n<!-- memory .*"archived":true} -->/)
    await bring(to, file, true)
    expect((await all(to)).map(({ content }) => content)).toEqual(['beta lives in the north'])
    const [kept] = await to.store.read((rows) => listArchived(rows, { limit: 5 }))
    expect(kept).toMatchObject({ content: 'alpha lives in the north', source: 'user' })
    expect(await bring(to, file, true)).toMatchObject({ imported: [], skipped: 2 })
  })

  test('what is exported from one home and vouched for in an empty one is the same there', async () => {
    const samples = fc
      .sample(fc.uniqueArray(memory, { selector: ({ content }) => content, minLength: 8 }), { numRuns: 6, seed: 7 })
      .flat()
    const odd = fc
      .sample(memory, { numRuns: oddTexts.length, seed: 8 })
      .map((some, at) => ({ ...some, content: oddTexts[at] ?? '' }))
    const memories = new Map([...odd, ...samples].map((some) => [some.content, some]))
    await from.store.write('import', async (tx) => {
      for (const some of memories.values()) await insertImported(tx, some)
    })
    const report = await bring(to, await exported(from), true)
    expect(report).toMatchObject({ skipped: 0, distrusted: 0, contradicting: [] })
    expect(report.imported).toHaveLength(memories.size)
    const elsewhere = { taskId: null, resultId: null, narrativeId: null }
    // Untrusted ones come with the score that they may have.
    const expected = (await all(from)).map(({ id: _, ...said }) => ({
      ...said,
      ...elsewhere,
      score: said.label.integrity === 'untrusted' ? Math.min(said.score, 1) : said.score,
    }))
    expect((await all(to)).map(({ id: _, ...said }) => said)).toEqual(expected)
    expect(await bring(to, await exported(to), true)).toMatchObject({ imported: [], skipped: memories.size })
  })

  test('a file’s word on trust counts only if the owner vouches for it, and never makes a stranger’s words trusted', async () => {
    await keep(from, 'The port is 8080', { tags: ['net'] })
    await keep(from, 'the port is 8080')
    await keep(from, 'The vault is open', { label: { integrity: 'untrusted', sources: ['url:https://a.example'] } })
    const file = await exported(from)
    const nobodys = '## memory\nBuy gold\n<!-- memory {"integrity":"untrusted"} -->'
    expect(await bring(to, nobodys, true)).toMatchObject({ imported: [1], distrusted: 0 })
    expect(await bring(to, file)).toMatchObject({ imported: [2, 3], distrusted: 1 })
    expect(await all(to)).toMatchObject([
      { content: 'The vault is open', label: { integrity: 'untrusted', sources: ['url:https://a.example'] } },
      {
        content: 'The port is 8080',
        tags: ['net'],
        score: 1,
        source: 'import',
        label: { integrity: 'untrusted', sources: ['file:m.md'] },
      },
      { content: 'Buy gold', label: { integrity: 'untrusted', sources: ['file:m.md'] } },
    ])
    const third = await newTestRuntime(database)
    expect(await bring(third, file, true)).toMatchObject({ distrusted: 0 })
    expect(await all(third)).toMatchObject([
      { source: 'user', label: { integrity: 'untrusted' } },
      { score: 2, source: 'user', label: trusted },
    ])
    await third.remove()
  })

  test('nothing that is known gives way to a file, and what looks alike is told', async () => {
    await keep(from, 'The port is 8080')
    await keep(to, 'The port is 9090')
    expect(await bring(to, await exported(from), true)).toEqual({
      imported: [2],
      skipped: 0,
      distrusted: 0,
      alike: [{ id: 2, with: 1 }],
      contradicting: [{ id: 2, with: 1 }],
      archived: 0,
    })
    expect((await all(to)).map(({ content }) => content)).toEqual(['The port is 8080', 'The port is 9090'])
  })

  test('what was replaced since does not come back', async () => {
    await keep(from, 'The port is 8080')
    const before = await exported(from)
    await keep(from, 'The port is 9090', { replaces: 1 })
    expect(await bring(from, before, true)).toMatchObject({ imported: [], skipped: 1 })
    expect((await all(from)).map(({ content }) => content)).toEqual(['The port is 9090'])
  })

  test('numbers of tasks and results are kept only in the home that gave them', async () => {
    await keep(from, 'The port is 8080', { taskId: 3, resultId: 4, runId: '06b0000000000000007k' })
    const file = (await exported(from)).replace('The port is 8080', 'The socket is /run/x')
    await bring(from, file)
    await bring(to, file)
    expect((await all(from))[0]).toMatchObject({ taskId: 3, resultId: 4, runId: '06b0000000000000007k' })
    expect((await all(to))[0]).toMatchObject({ taskId: null, resultId: null, runId: '06b0000000000000007k' })
  })

  test('a file that is wrong anywhere changes nothing', async () => {
    await keep(from, 'The port is 8080')
    await expect(bring(to, `${await exported(from)}lost words\n`)).rejects.toThrow('nothing was imported')
    expect(await all(to)).toEqual([])
  })

  test('more than fits one transaction comes over whole and in its order', async () => {
    await from.store.write('import', async (tx) => {
      for (let n = 0; n < 450; n++)
        await insertImported(tx, { ...plain, content: `note ${n} on topic ${n % 7}`, createdAt: n, recalledAt: n })
    })
    expect((await bring(to, await exported(from), true)).imported).toHaveLength(450)
    expect((await all(to)).map(({ content }) => content)).toEqual((await all(from)).map(({ content }) => content))
  })

  test('new words for a memory are held to the same measure as the first', async () => {
    const { id } = await keep(from, 'The port is 8080')
    const say = (content: string) =>
      from.store.write('submit', (tx) => rewrite(tx, id, { content }, { source: 'agent', label: trusted }, now, 100))
    await expect(say('  ')).rejects.toThrow('nothing to remember')
    await expect(say('x'.repeat(20_001))).rejects.toThrow('at most')
    expect(await from.store.read((rows) => findMemory(rows, id))).toMatchObject({ supersededBy: null })
  })
})

const plain = { source: 'user' as const, label: trusted, score: 1, narrativeId: null, saidAt: null }
