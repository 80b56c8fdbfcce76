import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Notebook, newNotebook } from '../memory/notebook.ts'
import { databases } from '../setup/places.ts'
import type { Indexing } from './indexer.ts'
import { type Program, type StartOptions, start } from './program.ts'
import { expectSound } from './whole.ts'

const count = 30

describe.each(databases)('processes that take in the files of a home on %s', (database) => {
  let notes: Notebook
  beforeEach(async () => {
    notes = await newNotebook(database)
    for (let at = 0; at < count; at++) notes.put(`memory/${at}.md`, `# note${at}\n\nfirst of ${at}\n\nsecond of ${at}`)
    notes.put('memory/long.md', Array.from({ length: 50 }, (_, at) => `part${at} ${'word '.repeat(80)}`).join('\n\n'))
  })
  afterEach(() => notes.remove())

  const indexer = (options?: StartOptions) =>
    start('indexer', { place: notes.runtime.place, home: notes.home } satisfies Indexing, options)
  const go = async (...programs: Program[]) => {
    await Promise.all(programs.map((program) => program.hear()))
    for (const program of programs) program.tell('go')
  }
  /** What rows must be, whoever made them: those of a single undisturbed look into other rows. */
  const expected = async () => {
    const other = await newNotebook('sqlite')
    await other.look({ files: notes.files })
    const rows = await other.rows()
    await other.remove()
    return rows
  }

  test('one that is killed in the middle leaves whole files behind, and the next goes on', async () => {
    const dying = indexer({ env: { HEDDLE_CRASH_AT: 'index.after_commit#7' } })
    await go(dying)
    expect(await dying.end).toBe('SIGKILL')
    const { files, passages } = await notes.rows()
    expect(files.length).toBeGreaterThan(0)
    expect(files.length).toBeLessThan(count + 1)
    // Whatever of a file is there is counted, and found.
    for (const { path, passages: counted } of files)
      expect([path, passages.filter((each) => each.path === path).length]).toEqual([path, counted])
    const next = indexer()
    await go(next)
    expect(await next.hear()).toEqual({ troubles: [] })
    expect(await notes.rows()).toEqual(await expected())
    expectSound(notes.runtime.place)
  })

  test('one that is killed before a commit has written nothing of it', async () => {
    const dying = indexer({ env: { HEDDLE_CRASH_AT: 'index.before_commit#1' } })
    await go(dying)
    expect(await dying.end).toBe('SIGKILL')
    expect(await notes.rows()).toEqual({ files: [], passages: [], words: [] })
  })

  test('two at once, after one was killed, end with the rows of one', async () => {
    const dying = indexer({ env: { HEDDLE_CRASH_AT: 'index.after_commit#5' } })
    await go(dying)
    await dying.end
    const both = [indexer(), indexer()]
    await go(...both)
    expect(await Promise.all(both.map((program) => program.hear()))).toEqual([{ troubles: [] }, { troubles: [] }])
    expect(await notes.rows()).toEqual(await expected())
    for (let at = 0; at < count; at += 2) notes.put(`memory/${at}.md`, `# note${at}\n\nsecond of ${at}\n\nthird`, 30)
    notes.drop('memory/1.md')
    notes.rename('memory/long.md', 'memory/longer.md')
    const again = [indexer(), indexer()]
    await go(...again)
    await Promise.all(again.map((program) => program.hear()))
    expect(await notes.rows()).toEqual(await expected())
  })
})
