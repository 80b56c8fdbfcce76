import { createHash } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import { spawnChild } from '../../src/engine/run/spawn.ts'
import { show } from '../../src/engine/views/show.ts'
import { contentOf } from '../../src/store/rows/file-changes.ts'
import { resultOf } from '../../src/store/rows/results.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { fileTimes } from '../../src/tools/files/fingerprint.ts'
import { inTurn } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { nobody, testTool } from './engine.ts'
import { edit, type Hands, newHands, planned, read, write } from './hands.ts'
import { startMortal } from './killable-engine.ts'

const sha = (text: string) => createHash('sha256').update(text).digest('hex')
const ok = (path: string, text: string) => ({ status: 'ok', path, sha256: sha(text) })
const shown = (text: string) => `1\t${text}`

describe.each(databases)('writing on %s', (database) => {
  const test = testOn(database)
  let pool: Hands | undefined
  const open = async (plans: Parameters<typeof planned>[0], tools: Tool[] = []) => {
    pool = await newHands(database, planned(plans), tools)
    await pool.work()
    return pool
  }
  afterEach(async () => {
    expect(pool?.troubles ?? []).toEqual([])
    await pool?.remove()
    pool = undefined
  })

  test('each change is kept with what was there before, and a run knows what it wrote itself', async () => {
    const { ask, put, content, outputs, changes, folder, engine } = await open({
      go: [
        [read('a')],
        [write('a', 'two\n'), write('sub/new', 'n\n')],
        [edit('a', 'two', 'three')],
        [write('a', 'two\n')],
      ],
    })
    put('a', 'one\n')
    const runId = await ask('go')
    expect(await outputs(runId)).toEqual(
      expect.arrayContaining([shown('one'), ok('a', 'two\n'), ok('sub/new', 'n\n'), ok('a', 'three\n')]),
    )
    expect([content('a'), content('sub/new')]).toEqual(['two\n', 'n\n'])
    const kept = await changes(runId)
    expect(kept.map(({ path, before, after, mode }) => ({ path, before, after, mode }))).toEqual(
      expect.arrayContaining([
        { path: 'a', before: sha('one\n'), after: sha('two\n'), mode: 0o644 },
        { path: 'sub/new', before: null, after: sha('n\n'), mode: null },
        { path: 'a', before: sha('two\n'), after: sha('three\n'), mode: 0o644 },
        { path: 'a', before: sha('three\n'), after: sha('two\n'), mode: 0o644 },
      ]),
    )
    expect(kept).toHaveLength(4)
    expect(new Set(kept.map((change) => change.folder))).toEqual(new Set([folder]))
    const one = await engine.store.read((rows) => contentOf(rows, sha('one\n')))
    expect(one).toMatchObject({ bytes: 4 })
    const limits = { usd: 1, tokens: 1, steps: 1 }
    const view = await engine.store.read((rows) =>
      show(rows, `run:${runId}`, folder, { now: 0, agents: nobody, protect: nothingProtected, limits }),
    )
    expect(view).toMatchObject({
      files: expect.arrayContaining([
        { path: 'a', sha256: sha('two\n'), undone: false },
        { path: 'sub/new', sha256: sha('n\n'), undone: false },
      ]),
    })
  })

  test('what a run has seen is kept with its calls, and never shown to the model', async () => {
    const model = planned({ go: [[read('a')], [write('a', 'two\n')]] })
    pool = await newHands(database, model)
    pool.put('a', 'one\n')
    await pool.work()
    const runId = await pool.ask('go')
    const steps = await pool.engine.store.read((rows) => readSteps(rows, runId))
    expect(steps.flatMap(({ payload }) => (payload as { seen?: unknown[] }).seen ?? [])).toEqual([
      { path: 'a', sha256: sha('one\n') },
      { path: 'a', sha256: sha('two\n'), identity: fileTimes(statSync(join(pool.folder, 'a'))).identity },
    ])
    expect(JSON.stringify(model.requests)).not.toMatch(/"seen"/)
    expect(JSON.stringify(model.requests)).not.toContain(sha('one\n'))
  })

  test('edits of one reply to the same file are made one after the other, and none is lost', async () => {
    const lines = Array.from({ length: 12 }, (_, n) => `line ${n};`)
    const { ask, put, content, outputs } = await open({
      go: [[read('many')], lines.map((line, n) => edit('many', line, `edited ${n};`))],
    })
    put('many', lines.join('\n'))
    const runId = await ask('go')
    expect(content('many')).toBe(lines.map((_, n) => `edited ${n};`).join('\n'))
    expect((await outputs(runId)).slice(1)).toEqual(lines.map(() => expect.objectContaining({ status: 'ok' })))
  })

  test('what a call has just written is known to the next, before its end is journalled', async () => {
    pool = await newHands(database, planned({ go: [[read('a')], [edit('a', 'x', 'X'), edit('a', 'y', 'Y')]] }))
    const { engine, put, content, changes, folder } = pool
    const { itemId, runId } = await pool.say('go', { folder })
    const count = async () => (await changes(runId ?? '')).length
    const twice = Promise.withResolvers<void>()
    // The end of the first call is not journalled before the second has kept its change.
    const holding: Store['write'] = async (area, body) => {
      const before = await count()
      if (before === 1 && area === 'step' && !isFirstHeld) {
        isFirstHeld = true
        await twice.promise
      }
      const areJobsHeld = isFirstHeld
      const value = await engine.store.write(area, body)
      // Whichever comes next ends the wait: on a busy machine the change itself may be what is held.
      if ((await count()) === 2 || (areJobsHeld && area === 'step')) twice.resolve()
      return value
    }
    let isFirstHeld = false
    put('a', 'x y\n')
    const process = startMortal({ ...pool, engine: { ...engine, store: { ...engine.store, write: holding } } })
    await whenEnded(engine, itemId, new AbortController().signal)
    process.kill()
    expect(content('a')).toBe('X Y\n')
  })

  test('a file that was changed since this run read it is not written, until it is read again', async () => {
    const poke = testTool('poke', 'pure', () => pool?.put('a', 'theirs\n'))
    const { ask, put, content, outputs } = await open(
      {
        go: [
          [read('a')],
          [{ name: 'poke', input: {} }],
          [write('a', 'ours\n')],
          [edit('a', 'theirs', 'x')],
          [read('a')],
          [write('a', 'ours\n')],
        ],
      },
      [poke],
    )
    put('a', 'one\n')
    const refused = {
      status: 'error',
      error: 'a was changed outside heddle since you read it',
      remedy: 'read it again',
    }
    expect((await outputs(await ask('go'))).slice(2)).toEqual([refused, refused, shown('theirs'), ok('a', 'ours\n')])
    expect(content('a')).toBe('ours\n')
  })

  test('a run that wrote it meanwhile is named, and so is its agent', async () => {
    const poke = testTool('poke', 'pure', async () => void (await pool?.ask('other', 'other')))
    const spawn: Tool<{ task: string }> = {
      ...{ name: 'spawn', description: 'begins a child', inputSchema: { type: 'object' }, effect: 'transactional' },
      parse: (input) => ({ ok: true, value: input as { task: string } }),
      write: (tx, { task }, call) =>
        spawnChild(tx as Tx, (pool as Hands).engine, call, { content: task, via: 'spawn_agent', agent: 'general' }),
    }
    const { ask, put, content, outputs, engine } = await open(
      {
        go: [[read('a')], [{ name: 'poke', input: {} }], [write('a', 'ours\n')]],
        other: [[{ name: 'spawn', input: { task: 'child' } }]],
        child: [[write('a', 'theirs\n')]],
      },
      [poke, spawn as Tool],
    )
    put('a', 'one\n')
    const runId = await ask('go')
    const child = (await engine.store.read((rows) => runsOf(rows, {}))).find(({ parentRunId }) => parentRunId !== null)
    expect((await outputs(runId)).at(-1)).toMatchObject({
      error: `a was changed by run:${child?.id.slice(-6)} (@general) since you read it`,
    })
    expect(content('a')).toBe('theirs\n')
    // What a child hands over names what it wrote, as the runtime found it.
    const artifacts = [{ path: 'a', sha256: sha('theirs\n'), bytes: 7, verified: true }]
    const result = await engine.store.read((rows) => resultOf(rows, child?.id ?? ''))
    expect(result).toMatchObject({ runId: child?.id, artifacts })
    const around = { now: 0, agents: nobody, protect: nothingProtected, limits: { usd: 1, tokens: 1, steps: 1 } }
    const view = await engine.store.read((rows) => show(rows, `result:${result?.id}`, '/', around))
    expect(view).toMatchObject({ kind: 'result', id: result?.id, status: 'completed', output: 'done', artifacts })
  })

  test('a file that this run never read, or that is gone, may be written', async () => {
    const poke = testTool('poke', 'pure', () => pool?.put('b', 'theirs\n'))
    const { ask, put, content, names } = await open(
      { go: [[{ name: 'poke', input: {} }], [write('a', 'ours\n'), edit('b', 'theirs', 'edited')]] },
      [poke],
    )
    put('a', 'one\n')
    await ask('go')
    expect([content('a'), content('b'), names()]).toEqual(['ours\n', 'edited\n', ['a', 'b']])
  })

  test('a process that dies at any moment leaves every file old or new, and each change is kept once', async () => {
    const hands = await newHands(
      database,
      planned({ go: [[read('a')], [write('a', 'two\n')], [write('b', 'b\n')], [edit('a', 'two', '3')]] }),
    )
    pool = hands
    const { folder, put, content, names, changes, outputs, engine, say, work } = hands
    const never = new AbortController().signal
    /** Returns what it passed: all that there is, unless it dies. */
    const live = async (dieAt: number): Promise<string[]> => {
      rmSync(join(folder, 'b'), { force: true })
      put('a', 'one\n')
      const { itemId, runId } = await say('go', { folder, label: `s${dieAt}` })
      const quiet = whenEnded(engine, itemId, never)
      const mortal = startMortal(hands, { dieAt, counting: /step|settle|called|model/ })
      const isDead = await Promise.race([mortal.died.then(() => true), quiet.then(() => false)])
      if (isDead) {
        expect(['one\n', 'two\n', '3\n']).toContain(content('a'))
        const worker = await work()
        await quiet
        await worker.stop()
      }
      const came = (await outputs(runId ?? '')).slice(-3)
      expect([dieAt, mortal.passes.at(-1), came]).toEqual([
        dieAt,
        mortal.passes.at(-1),
        [ok('a', 'two\n'), ok('b', 'b\n'), ok('a', '3\n')],
      ])
      expect([content('a'), content('b'), names()]).toEqual(['3\n', 'b\n', ['a', 'b']])
      expect((await changes(runId ?? '')).map(({ path, before, after }) => [path, before, after])).toEqual([
        ['a', sha('one\n'), sha('two\n')],
        ['b', null, sha('b\n')],
        ['a', sha('two\n'), sha('3\n')],
      ])
      mortal.kill()
      return mortal.passes
    }
    const passes = await live(Number.POSITIVE_INFINITY)
    // Between the row and the file, and between the file and the end of the call.
    const named = ['step was written', 'write_file was called', 'edit_file was called']
    const always = named.map((moment) => passes.indexOf(moment) + 1)
    expect(always).not.toContain(0)
    const others = [...passes.keys()].map((at) => at + 1).filter((at) => !always.includes(at))
    for (const dieAt of [...always, ...inTurn(others, 3)]) await live(dieAt)
  }, 120_000)

  test('a call that is repeated is refused when somebody else has changed the file since', async () => {
    pool = await newHands(database, planned({ go: [[write('a', 'two\n')]] }))
    const { folder, put, content, changes, outputs, engine } = pool
    put('a', 'one\n')
    const { itemId, runId } = await pool.say('go', { folder })
    const kept = async () => (await changes(runId ?? '')).length
    // Dies when the row is there and the file is not yet touched.
    const [reached, dead] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const committing: Store['write'] = async (area, body) => {
      const value = await engine.store.write(area, body)
      if ((await kept()) === 0) return value
      reached.resolve()
      await dead.promise
      return value
    }
    const mortal = startMortal({ ...pool, engine: { ...engine, store: { ...engine.store, write: committing } } })
    await reached.promise
    mortal.kill()
    dead.resolve()
    expect(content('a')).toBe('one\n')
    put('a', 'theirs\n')
    await pool.work()
    await whenEnded(engine, itemId, new AbortController().signal)
    expect(await outputs(runId ?? '')).toMatchObject([{ error: 'a was changed outside heddle since you read it' }])
    expect([content('a'), await kept()]).toEqual(['theirs\n', 1])
  })
})
