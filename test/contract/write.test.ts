import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CrashPoint } from '../../src/domain/crash-points.ts'
import { TransactionMisuse } from '../../src/store/failures.ts'
import type { DatabaseLocation } from '../../src/store/open.ts'
import { statementOfRows } from '../../src/store/statement.ts'
import type { Snapshot, Tx } from '../../src/store/store.ts'
import { databases, newTestRuntime } from '../setup/places.ts'
import { countStatements } from '../setup/statement-counter.ts'
import { gate, note, notes } from './notes.ts'

const revoked = new TransactionMisuse('append: tx was used after its body had ended')

describe.each(databases)('write on %s', (database) => {
  async function newStore(crash: (point: CrashPoint, place: () => DatabaseLocation) => void = () => undefined) {
    const runtime = await newTestRuntime(database, { crash: (point) => crash(point, () => runtime.place) })
    onTestFinished(runtime.remove)
    return { ...runtime, stored: () => runtime.store.read(notes) }
  }

  test('answers after COMMIT: before, no other process sees the row; after, every other process does', async () => {
    const trace: unknown[] = []
    const { store, place } = await newStore((point, place) => {
      if (point === 'append.before_commit') trace.push(['before', notesSeenElsewhere(place())])
    })
    store.onHint(() => trace.push(['hint', notesSeenElsewhere(place)]))
    await store.write('append', async (tx) => {
      tx.hint('events')
      await note(tx, 'a')
    })
    trace.push(['answer', notesSeenElsewhere(place)])
    expect(trace).toEqual([
      ['before', []],
      ['hint', ['a']],
      ['answer', ['a']],
    ])
  })

  test('passes the crash points of its area once around each COMMIT, and those of no other', async () => {
    const points: string[] = []
    const { store } = await newStore((point) => points.push(point))
    points.length = 0
    await store.write('fork', (tx) => note(tx, 'a'))
    const failing = () => Promise.reject(new Error('no'))
    const doomed = (tx: Tx) => note(tx, 'a').catch(() => 0)
    for (const body of [failing, doomed]) await expect(store.write('fork', body)).rejects.toBeInstanceOf(Error)
    expect(points).toEqual(['fork.before_commit', 'fork.after_commit'])
  })

  test('sends no hint of a body that failed', async () => {
    const { store } = await newStore()
    const hints: string[] = []
    store.onHint((hint) => hints.push(hint))
    const body = async (tx: Tx) => {
      tx.hint('events')
      throw new Error('no')
    }
    await expect(store.write('append', body)).rejects.toThrow('no')
    expect(hints).toEqual([])
  })

  test('is told no more hints once it stopped listening', async () => {
    const { store } = await newStore()
    const hints: string[] = []
    const stop = store.onHint((hint) => hints.push(hint))
    const hinting = async (tx: Tx) => tx.hint('events')
    await store.write('append', hinting)
    stop()
    await store.write('append', hinting)
    expect(hints).toEqual(['events'])
  })

  test('stores all of a body or nothing of it', async () => {
    const { store, stored } = await newStore()
    const body = async (tx: Tx) => {
      await note(tx, 'a')
      await note(tx, 'b')
      throw new Error('no')
    }
    await expect(store.write('append', body)).rejects.toThrow('no')
    expect(await stored()).toEqual([])
  })

  test('fails with the first statement that failed, even if the body makes nothing of it', async () => {
    const { store, stored } = await newStore()
    const later: unknown[] = []
    const body = async (tx: Tx) => {
      await note(tx, 'a')
      await note(tx, 'a').catch(() => undefined)
      await note(tx, 'b').catch((error) => later.push(error.code))
      await notes(tx).catch((error) => later.push(error.code))
      return 'well'
    }
    await expect(store.write('append', body)).rejects.toMatchObject({ code: 'constraint_unique' })
    expect(later).toEqual(['constraint_unique', 'constraint_unique'])
    expect(await stored()).toEqual([])
  })

  test('fails with the error of the body where it throws one of its own', async () => {
    const { store, stored } = await newStore()
    const body = async (tx: Tx) => {
      await note(tx, 'a')
      await note(tx, 'a').catch(() => {
        throw new Error('my own')
      })
    }
    await expect(store.write('append', body)).rejects.toEqual(new Error('my own'))
    expect(await stored()).toEqual([])
  })

  test('counts a statement that the body did not wait for', async () => {
    const { store, stored } = await newStore()
    await store.write('append', async (tx) => void note(tx, 'a'))
    expect(await stored()).toEqual(['a'])
    const body = async (tx: Tx) => {
      await note(tx, 'b')
      void note(tx, 'a').catch(() => undefined)
    }
    await expect(store.write('append', body)).rejects.toMatchObject({ code: 'constraint_unique' })
    expect(await stored()).toEqual(['a'])
  })

  test('fails with a statement that was only sent, whatever follows it', async () => {
    const { store, stored } = await newStore()
    const send = (tx: Tx, name: string) => tx.send(tx.build.insertInto('prompts').values({ hash: name, text: '' }))
    await store.write('append', async (tx) => {
      send(tx, 'a')
      expect(await notes(tx)).toEqual(['a'])
    })
    const last = async (tx: Tx) => {
      await note(tx, 'b')
      send(tx, 'a')
    }
    const followed = async (tx: Tx) => {
      send(tx, 'a')
      await note(tx, 'b').catch(() => undefined)
    }
    for (const body of [last, followed])
      await expect(store.write('append', body)).rejects.toMatchObject({ code: 'constraint_unique' })
    expect(await stored()).toEqual(['a'])
  })

  test('stores what is sent last at the end of its body, in one statement, and fails with it', async () => {
    const { store, stored } = await newStore()
    const insert = statementOfRows((db, rows: { hash: string }[]) =>
      db.insertInto('prompts').values(rows.map(({ hash }) => ({ hash, text: '' }))),
    )
    const counting = await countStatements(() =>
      store.write('append', async (tx) => {
        tx.sendLast(insert, [{ hash: 'a' }])
        expect(await notes(tx)).toEqual([])
        tx.sendLast(insert, [{ hash: 'b' }])
      }),
    )
    expect(counting.statements.filter((sql) => /^insert/i.test(sql))).toHaveLength(1)
    expect(await stored()).toEqual(['a', 'b'])
    const again = store.write('append', async (tx) => {
      await note(tx, 'c')
      tx.sendLast(insert, [{ hash: 'b' }])
    })
    await expect(again).rejects.toMatchObject({ code: 'constraint_unique' })
    expect(await stored()).toEqual(['a', 'b'])
  })

  test.for(['ended well', 'failed'])('revokes the tx of a body that %s', async (end) => {
    const { store, stored } = await newStore()
    const kept = gate<Tx>()
    const write = store.write('append', async (tx) => {
      kept.resolve(tx)
      await note(tx, 'a')
      if (end === 'failed') throw new Error('no')
    })
    await write.catch(() => undefined)
    const tx = await kept.promise
    await expect(note(tx, 'late')).rejects.toEqual(revoked)
    await expect(notes(tx)).rejects.toEqual(revoked)
    await expect(tx.first(tx.build.selectFrom('prompts').select('hash'))).rejects.toEqual(revoked)
    expect(() => tx.hint('events')).toThrow(revoked)
    expect(() => tx.locking('sessions')).toThrow(revoked)
    expect(await stored()).toEqual(end === 'failed' ? [] : ['a'])
  })

  test('refuses to lock rows against the one order', async () => {
    const { store, stored } = await newStore()
    const body = async (tx: Tx) => {
      await note(tx, 'a')
      tx.locking('sessions')
      tx.locking('sessions')
      tx.locking('joins')
      tx.locking('projects')
    }
    await expect(store.write('append', body)).rejects.toEqual(
      new TransactionMisuse('append: projects must be locked before joins'),
    )
    expect(await stored()).toEqual([])
  })

  test('lets nobody read what an open body has written', async () => {
    const { store, stored } = await newStore()
    await store.write('append', (tx) => note(tx, 'old'))
    const seen = await store.write('append', async (tx) => {
      await note(tx, 'new')
      return { inside: await notes(tx), outside: await stored() }
    })
    expect(seen).toEqual({ inside: ['new', 'old'], outside: ['old'] })
    expect(await stored()).toEqual(['new', 'old'])
  })

  test('goes on while a snapshot sees one moment', async () => {
    const { store, stored } = await newStore()
    await store.write('append', (tx) => note(tx, 'old'))
    await store.snapshot(async (rows) => {
      expect(await notes(rows)).toEqual(['old'])
      await store.write('append', (tx) => note(tx, 'new'))
      expect(await stored()).toEqual(['new', 'old'])
      expect(await notes(rows)).toEqual(['old'])
      expect(await allPages(rows, 'prompts')).toEqual([[{ hash: 'old', text: '' }]])
    })
  })

  test('gives a snapshot whole tables in pages, and lets it leave one half read', async () => {
    const { store } = await newStore()
    await store.write('append', async (tx) => {
      for (let number = 0; number < 1201; number++) await note(tx, `${number}`)
    })
    await store.snapshot(async (rows) => {
      for await (const page of rows.pages('prompts')) {
        expect(page.length).toBeLessThanOrEqual(500)
        break
      }
      const names = (await allPages(rows, 'prompts')).flat().map(({ hash }) => String(hash))
      expect(names.sort()).toEqual(await notes(rows))
      const tables = [
        ...['meta', 'personas', 'prompts', 'segments', 'runs', 'turns', 'threads', 'sessions', 'events'],
        ...['owners', 'inbox', 'agent_results', 'joins', 'join_members', 'steps'],
        ...['approvals', 'grants', 'file_changes', 'file_contents', 'projects', 'tasks', 'task_edges'],
        ...['memories', 'memories_archive', 'memory_words', 'memory_recalls', 'narratives'],
        'request_totals',
        'narrative_recalls',
        'id_tails',
        ...['home_files', 'passages', 'passage_words', 'passage_recalls'],
        ...['embedders', 'memory_vectors', 'usage'],
        ...['users', 'tokens', 'audit', 'idempotency'],
        ...['narrative_tasks', 'untrusted_files', 'untrusted_commands', 'cron_jobs', 'cron_fires', 'outbox'],
        ...['search_documents', 'search_words', 'search_files', 'search_passages'],
        ...['policies', 'policy_versions', 'command_changes'],
      ]
      expect((await rows.tables()).toSorted()).toEqual(tables.toSorted())
    })
  })

  test('finishes what was begun when the store closes, and refuses what comes later', async () => {
    const { store, place } = await newStore()
    const names = Array.from({ length: 150 }, (_, number) => `${1000 + number}`)
    const begun = names.map((name) => store.write('append', (tx) => note(tx, name)))
    const closing = store.close()
    const refused = { code: 'store_closed', remedy: 'open it again' }
    await expect(store.write('append', (tx) => note(tx, 'late'))).rejects.toMatchObject(refused)
    expect((await Promise.allSettled(begun)).filter(({ status }) => status === 'rejected')).toEqual([])
    await closing
    await expect(store.write('append', (tx) => note(tx, 'later'))).rejects.toMatchObject(refused)
    await expect(store.read(notes)).rejects.toMatchObject(refused)
    await expect(store.snapshot(notes)).rejects.toMatchObject(refused)
    expect(notesSeenElsewhere(place)).toEqual(names)
    await store.close()
  })
})

async function allPages(rows: Snapshot, table: string): Promise<Record<string, unknown>[][]> {
  const pages = []
  for await (const page of rows.pages(table)) pages.push(page)
  return pages
}

/** What another process finds at this very moment: nothing else happens here meanwhile. */
function notesSeenElsewhere(place: DatabaseLocation): unknown {
  const program = join(import.meta.dirname, 'notes-of.ts')
  return JSON.parse(execFileSync(process.execPath, [program, JSON.stringify(place)], { encoding: 'utf8' }))
}
