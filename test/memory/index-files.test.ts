import { appendFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import type { HomeFiles } from '../../src/domain/home-files.ts'
import { homeTemplates } from '../../src/home/templates.ts'
import { fileIndex } from '../../src/memory/index-files.ts'
import type { Store } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { type Notebook, newNotebook } from './notebook.ts'

describe.each(databases)('files of the home on %s', (database) => {
  const test = testOn(database)
  let notes: Notebook
  beforeEach(async () => {
    notes = await newNotebook(database)
  })
  afterEach(() => notes.remove())

  /** Rows that note every transaction, and what it came to. */
  function counted(): { store: Store; writes: () => number } {
    const { store } = notes.runtime
    let writes = 0
    const counting: Store = {
      ...store,
      write: (area, body) => {
        writes++
        return store.write(area, body)
      },
    }
    return { store: counting, writes: () => writes }
  }
  const ids = () =>
    notes.runtime.store.read(async (rows) => {
      const found = await rows.all(rows.build.selectFrom('passages').select(['id', 'text']).orderBy('line'))
      return new Map(found.map(({ id, text }) => [text, id]))
    })
  const manyParagraphs = (count: number, word = 'paragraph') =>
    Array.from({ length: count }, (_, at) => `${word} number${at} ${'filler '.repeat(60)}`.trim()).join('\n\n')

  test('what was written is found by its words and the headings above it, with path and line', async () => {
    notes.put('memory/2026-11-03.md', '# Tuesday\n\n## Staging server\n\nIt listens on 8443.\n\nAda is away 🙂\n')
    notes.put('USER.md', 'My cats are Ada and Grace.')
    notes.put('memory/日記.md', '発売日は五月です')
    expect(await notes.look()).toEqual([])
    expect(await notes.found('which port has the staging server?')).toEqual([
      'memory/2026-11-03.md:5 It listens on 8443.',
      'memory/2026-11-03.md:7 Ada is away 🙂',
    ])
    expect(await notes.found('cats')).toEqual(['USER.md:1 My cats are Ada and Grace.'])
    expect(await notes.found('発売日')).toEqual(['memory/日記.md:1 発売日は五月です'])
    expect(await notes.found('🙂')).toEqual(['memory/2026-11-03.md:7 Ada is away 🙂'])
    for (const odd of ['', '?:{}[]^~', '" OR 1=1 --', '\u0000\ud800', 'zzz']) expect(await notes.found(odd)).toEqual([])
  })

  test('what changed is taken in again, what is gone goes, and the rest is left alone', async () => {
    notes.put('memory/a.md', 'alpha')
    notes.put('memory/b.md', 'beta')
    notes.put('memory/c.md', 'gamma')
    await notes.look()
    notes.put('memory/a.md', 'omega', 30)
    notes.drop('memory/b.md')
    notes.rename('memory/c.md', 'memory/d.md')
    const { store, writes } = counted()
    expect(await notes.look({ store })).toEqual([])
    expect((await notes.rows()).passages).toEqual([
      { path: 'memory/a.md', line: 1, text: 'omega' },
      { path: 'memory/d.md', line: 1, text: 'gamma' },
    ])
    expect((await notes.rows()).words.map(({ word }) => word)).toEqual(['omega', 'gamma'])
    expect(writes()).toBe(4)
    expect(await notes.found('alpha beta')).toEqual([])
    await notes.look({ store })
    expect(writes()).toBe(4)
  })

  test('passages that a change left alone stay the same ones, where they stand now', async () => {
    notes.put('memory/a.md', 'one\n\ntwo\n\nsame\n\nsame\n\nthree')
    await notes.look()
    const before = await ids()
    notes.put('memory/a.md', 'new\n\none\n\nsame\n\nsame\n\nthree\n\nfour', 30)
    await notes.look()
    const after = await ids()
    for (const text of ['one', 'same', 'three']) expect([text, after.get(text)]).toEqual([text, before.get(text)])
    expect((await notes.rows()).passages.map(({ line, text }) => `${line} ${text}`)).toEqual([
      '1 new',
      '3 one',
      '5 same',
      '7 same',
      '9 three',
      '11 four',
    ])
  })

  test('a file that was only touched is read once, and nothing of it is written anew', async () => {
    notes.put('memory/a.md', 'alpha')
    await notes.look()
    const before = await ids()
    notes.put('memory/a.md', 'alpha', 10)
    const { store, writes } = counted()
    await notes.look({ store })
    await notes.look({ store })
    expect([await ids(), writes()]).toEqual([before, 1])
  })

  test('a change within the same tick of the clock, of the same length, is seen all the same', async () => {
    notes.put('memory/a.md', 'alpha', 0)
    const at = notes.clock.now() / 1000
    await notes.look()
    writeFileSync(join(notes.home, 'memory/a.md'), 'omega')
    utimesSync(join(notes.home, 'memory/a.md'), at, at)
    await notes.look()
    expect(await notes.found('omega')).toEqual(['memory/a.md:1 omega'])
  })

  test('a form says nothing until somebody fills it in, and nothing again when they empty it', async () => {
    const form = homeTemplates['USER.md'] ?? ''
    notes.put('USER.md', form)
    await notes.look()
    expect((await notes.rows()).files).toMatchObject([{ path: 'USER.md', passages: 0 }])
    notes.put('USER.md', `${form}\nMy cats are Ada and Grace.`, 30)
    await notes.look()
    expect(await notes.found('cats')).toEqual(['USER.md:13 My cats are Ada and Grace.'])
    notes.put('USER.md', form, 20)
    await notes.look()
    expect(await notes.rows()).toMatchObject({ passages: [], words: [] })
  })

  test('a long file is taken in by small transactions, and so it goes', async () => {
    notes.put('memory/long.md', manyParagraphs(60))
    const { store, writes } = counted()
    await notes.look({ store })
    expect((await notes.rows()).files).toMatchObject([{ path: 'memory/long.md', passages: 60 }])
    expect(writes()).toBeGreaterThanOrEqual(6)
    notes.drop('memory/long.md')
    await notes.look({ store })
    expect(await notes.rows()).toEqual({ files: [], passages: [], words: [] })
  })

  test('stopped in the middle it ends at once, and the next look goes on from there', async () => {
    notes.put('memory/old.md', 'long gone', 1000)
    await notes.look()
    notes.put('memory/old.md', manyParagraphs(60), 50)
    notes.put('memory/never.md', 'not yet', 1000)
    const stop = new AbortController()
    const { store } = notes.runtime
    let writes = 0
    const stopping: Store = {
      ...store,
      async write(area, body) {
        if (++writes === 3) stop.abort()
        return store.write(area, body)
      },
    }
    expect(await notes.look({ store: stopping, signal: stop.signal })).toEqual([])
    expect(writes).toBe(3)
    const [half] = (await notes.rows()).files
    expect(half).toMatchObject({ path: 'memory/old.md', size: -1 })
    expect(half?.passages).toBeGreaterThan(0)
    expect(half?.passages).toBeLessThan(60)
    // What it said before is no shortcut to what is only half taken back.
    notes.put('memory/old.md', 'long gone', 1000)
    await notes.look()
    expect((await notes.rows()).passages.map(({ path, text }) => [path, text])).toEqual([
      ['memory/never.md', 'not yet'],
      ['memory/old.md', 'long gone'],
    ])
  })

  test('two that do it at once end with the same rows as one', async () => {
    for (let at = 0; at < 12; at++) notes.put(`memory/${at}.md`, manyParagraphs(3, `file${at}`))
    notes.put('memory/long.md', manyParagraphs(40))
    const both = () => Promise.all([notes.look(), notes.look()])
    expect(await both()).toEqual([[], []])
    const once = await notes.rows()
    expect(once.passages.length).toBe(12 * 3 + 40)
    expect(once.files.every(({ passages, path }) => passages === (path === 'memory/long.md' ? 40 : 3))).toBe(true)
    for (let at = 0; at < 12; at++) notes.put(`memory/${at}.md`, manyParagraphs(2, `other${at}`), 30)
    notes.drop('memory/long.md')
    expect(await both()).toEqual([[], []])
    const twice = await notes.rows()
    expect(twice.passages.length).toBe(24)
    expect(new Set(twice.words.map(({ path }) => path)).size).toBe(12)
  })

  test('a file that is written while it is read keeps its rows until it is still', async () => {
    notes.put('memory/a.md', 'alpha')
    await notes.look()
    notes.put('memory/a.md', 'omega', 30)
    const restless: HomeFiles = {
      ...notes.files,
      async read(path) {
        let isRead = false
        const reading = notes.files.read(path).finally(() => {
          isRead = true
        })
        while (!isRead) {
          appendFileSync(join(notes.home, path), '!')
          await new Promise(setImmediate)
        }
        return reading
      },
    }
    expect(await notes.look({ files: restless })).toEqual([])
    expect(await notes.found('alpha')).toEqual(['memory/a.md:1 alpha'])
    await notes.look()
    expect(await notes.found('omega')).toEqual([expect.stringMatching(/^memory\/a\.md:1 omega!+$/)])
  })

  test('one that cannot be taken in keeps none of the others from it', async () => {
    for (const name of ['a', 'b', 'c']) notes.put(`memory/${name}.md`, `text of ${name}`)
    const broken: HomeFiles = {
      ...notes.files,
      read: (path) => (path === 'memory/b.md' ? Promise.reject(new Error('no')) : notes.files.read(path)),
    }
    expect(await notes.look({ files: broken })).toEqual([new Error('no')])
    expect((await notes.rows()).files.map(({ path }) => path)).toEqual(['memory/a.md', 'memory/c.md'])
  })

  test('a brief look takes in what was written last, at most two hundred files, and says nothing of trouble', async () => {
    for (let at = 0; at < 210; at++) notes.put(`memory/${at}.md`, `note${at}`, 1000 - at)
    const { clock, files, runtime } = notes
    // Time stands still where it is not waited for: only the number of files ends such a look.
    const sleep = (duration: number) => (duration >= 1000 ? clock.sleep(duration) : Promise.resolve())
    const brief = (found = files) => fileIndex({ ...runtime, clock: { ...clock, sleep } }, found).lookBriefly()
    await brief()
    expect((await notes.rows()).files.length).toBe(200)
    expect(await notes.found('note209')).toEqual(['memory/209.md:1 note209'])
    expect(await notes.found('note3')).toEqual([])
    await brief({ ...files, read: () => Promise.reject(new Error('no')) })
    await brief()
    expect((await notes.rows()).files.length).toBe(210)
  })

  test('neither many that came nor many that went keep a brief look from the other', async () => {
    for (let at = 0; at < 12; at++) notes.put(`memory/old${at}.md`, `going ${at}`)
    await notes.look()
    for (let at = 0; at < 12; at++) notes.drop(`memory/old${at}.md`)
    for (let at = 0; at < 12; at++) notes.put(`memory/new${at}.md`, `coming ${at}`, 30 - at)
    let now = 0
    const sleep = (duration: number) => new Promise<void>((wake) => duration < 1000 && wake())
    const clock = { ...notes.clock, monotonic: () => (now += 25), sleep }
    await fileIndex({ ...notes.runtime, clock }, notes.files).lookBriefly()
    const texts = (await notes.rows()).passages.map(({ text }) => text)
    expect(texts).toContain('coming 11')
    expect(texts.filter((text) => text.startsWith('going')).length).toBeLessThan(12)
    expect(texts).not.toContain('coming 0')
  })

  test('a brief look ends when its time is over, but not before it has looked at the newest', async () => {
    for (let at = 0; at < 20; at++) notes.put(`memory/${at}.md`, `note${at}`, 1000 - at)
    let now = 0
    const clock = {
      ...notes.clock,
      monotonic: () => (now += 25),
      sleep: (duration: number) => new Promise<void>((wake) => duration < 1000 && wake()),
    }
    await fileIndex({ ...notes.runtime, clock }, notes.files).lookBriefly()
    const { files } = await notes.rows()
    expect(files.length).toBeGreaterThan(0)
    expect(files.length).toBeLessThan(8)
    expect(await notes.found('note19')).toEqual(['memory/19.md:1 note19'])
  })

  test('a brief look waits two seconds at most for rows that others hold', async () => {
    notes.put('memory/a.md', 'alpha')
    const held: Store = { ...notes.runtime.store, write: () => new Promise(() => undefined) }
    const began = notes.clock.now()
    await notes.passing(fileIndex({ store: held, clock: notes.clock }, notes.files).lookBriefly())
    expect(notes.clock.now() - began).toBeGreaterThanOrEqual(2000)
    expect(notes.clock.now() - began).toBeLessThan(2100)
  })

  test('the first look comes after a second, the next ones every ten', async () => {
    notes.put('memory/a.md', 'alpha')
    const pauses: number[] = []
    const stop = new AbortController()
    const sleep = async (duration: number) => {
      if (duration >= 1000) pauses.push(duration)
      if (pauses.length === 4) stop.abort()
    }
    await fileIndex({ store: notes.runtime.store, clock: { ...notes.clock, sleep } }, notes.files).keepUp(
      stop.signal,
      () => 0,
    )
    expect(pauses).toEqual([1000, 10_000, 10_000, 10_000])
  })
})
