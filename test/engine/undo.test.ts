import { chmodSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { undo } from '../../src/engine/files/undo.ts'
import { spawnChild } from '../../src/engine/run/spawn.ts'
import { gate } from '../../src/models/gate.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { visibleEvents } from '../setup/visible-events.ts'
import { testTool } from './engine.ts'
import { edit, type Hands, newHands, planned, read, write } from './hands.ts'

const nothing = { ok: true, restored: [], unchanged: [], refused: [], cannotUndo: [] }

describe.each(databases)('undo on %s', (database) => {
  const test = testOn(database)
  let pool: Hands
  const at = (name: string) => join(pool.folder, name)
  const open = async (plans: Parameters<typeof planned>[0], tools: Tool[] = []) => {
    pool = await newHands(database, planned(plans), [...tools, spawn as Tool])
    await pool.work()
    return pool
  }
  const spawn: Tool<{ task: string }> = {
    ...{ name: 'spawn', description: 'begins a child', inputSchema: { type: 'object' }, effect: 'transactional' },
    parse: (input) => ({ ok: true, value: input as { task: string } }),
    write: (tx, { task }, call) =>
      spawnChild(tx as Tx, pool.engine, call, { content: task, via: 'spawn_agent', agent: 'general' }),
  }
  afterEach(async () => {
    expect(pool.troubles).toEqual([])
    await pool.remove()
  })

  test('content and permissions are again as before, what was made is gone, and a second time does nothing', async () => {
    const { put, content, ask, engine, changes } = await open({
      go: [[write('a', 'two\n'), write('new', 'n\n'), edit('sub', 'x', 'y')], [edit('a', 'two', 'three')]],
    })
    put('a', 'one\n')
    put('sub', 'x\r\n')
    chmodSync(at('a'), 0o755)
    const runId = await ask('go')
    const dry = await undo(engine, runId, { dryRun: true })
    expect({ ...dry, restored: dry.restored.toSorted() }).toEqual({ ...nothing, restored: ['a', 'new', 'sub'].map(at) })
    expect(content('a')).toBe('three\n')
    chmodSync(at('a'), 0o700)
    expect(await undo(engine, runId)).toEqual(dry)
    expect([content('a'), content('sub'), existsSync(at('new'))]).toEqual(['one\n', 'x\r\n', false])
    expect(statSync(at('a')).mode & 0o777).toBe(0o755)
    expect(pool.names()).toEqual(['a', 'sub'])
    expect((await changes(runId)).every(({ undoneAt }) => undoneAt !== null)).toBe(true)
    expect(await undo(engine, runId)).toEqual(nothing)
    const undone = (await visibleEvents(engine.store)).filter(({ kind }) => kind === 'run.undone')
    expect(undone).toMatchObject([{ subject: `run:${runId}`, payload: { restored: 3, refused: 0 } }])
  })

  test('a file that somebody changed since stays, and is told with whom; the others are put back', async () => {
    const { put, content, ask, engine } = await open({
      go: [[write('a', '2\n'), write('b', '2\n'), write('c', '2\n'), write('d', '2\n'), write('e', '2\n')]],
      more: [[write('b', '3\n')]],
    })
    for (const name of ['a', 'b', 'c', 'd', 'e']) put(name, '1\n')
    const runId = await ask('go')
    const other = await ask('more', 'other')
    put('c', 'mine\n')
    rmSync(at('d'))
    put('e', '1\n')
    const undone = await undo(engine, runId)
    expect({ ...undone, refused: undone.refused.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }).toEqual({
      ...nothing,
      ok: false,
      restored: [at('a')],
      unchanged: [at('e')],
      refused: [
        { path: at('b'), why: `changed by run:${other.slice(-6)} (@general) since` },
        { path: at('c'), why: 'changed outside heddle since' },
        { path: at('d'), why: 'removed outside heddle since' },
      ],
    })
    expect([content('a'), content('b'), content('c'), existsSync(at('d'))]).toEqual(['1\n', '3\n', 'mine\n', false])
    // In the order in which things were done they can all be taken back.
    expect(await undo(engine, other)).toMatchObject({ ok: true, restored: [at('b')] })
    expect(await undo(engine, runId)).toMatchObject({ restored: [at('b')], refused: [{}, {}] })
    expect(content('b')).toBe('1\n')
  })

  test('what a person put back by hand is theirs, also when a run had once made it so', async () => {
    const { put, content, ask, engine } = await open({ go: [[write('a', '2\n')], [write('a', '3\n')]] })
    put('a', '1\n')
    const runId = await ask('go')
    put('a', '2\n')
    expect((await undo(engine, runId)).refused).toEqual([{ path: at('a'), why: 'changed outside heddle since' }])
    expect(content('a')).toBe('2\n')
  })

  test("somebody else's work between two changes of a run is not taken back with them", async () => {
    const poke = testTool('poke', 'pure', () => writeFileSync(at('a'), 'mine\n'))
    const { put, content, ask, engine } = await open(
      { go: [[write('a', '2\n')], [{ name: 'poke', input: {} }], [read('a')], [edit('a', 'mine', 'mine and ours')]] },
      [poke],
    )
    put('a', '1\n')
    const undone = await undo(engine, await ask('go'))
    expect(undone.refused).toEqual([{ path: at('a'), why: 'changed outside heddle in between' }])
    expect(content('a')).toBe('mine and ours\n')
  })

  test('the first run of a request stands for all of it, a child only for itself; commands are told of', async () => {
    const act = testTool('act', 'unsafe', () => 'done')
    const { put, content, ask, engine } = await open(
      {
        go: [[write('a', 'parent\n'), { name: 'spawn', input: { task: 'child' } }]],
        child: [[write('b', 'child\n'), { name: 'act', input: { command: 'make install' } }]],
      },
      [act],
    )
    put('a', '1\n')
    put('b', '1\n')
    const runId = await ask('go')
    const child =
      (await engine.store.read((rows) => runsOf(rows, {}))).find(({ parentRunId }) => parentRunId !== null)?.id ?? ''
    const cannotUndo = [{ runId: child, name: 'act', about: 'make install' }]
    expect(await undo(engine, child)).toEqual({ ...nothing, restored: [at('b')], cannotUndo })
    expect([content('a'), content('b')]).toEqual(['parent\n', '1\n'])
    expect(await undo(engine, runId)).toEqual({ ...nothing, restored: [at('a')], cannotUndo })
    expect([content('a'), content('b')]).toEqual(['1\n', '1\n'])
  })

  test('what a command changed is told with it, and by whom a file was changed that the run had written', async () => {
    const sed: Tool = {
      ...testTool('sed', 'unsafe', () => undefined),
      async run(input) {
        const { path, text } = input as { path: string; text?: string }
        if (text === undefined) rmSync(at(path))
        else writeFileSync(at(path), text)
        const touched = { folder: pool.folder, created: [], changed: [], removed: [], more: 0 }
        return {
          status: 'ok',
          output: 'done',
          touched: { ...touched, [text === undefined ? 'removed' : 'changed']: [path] },
        }
      },
    } as Tool
    const call = (path: string, text?: string) => ({ name: 'sed', input: { path, text } })
    const { put, ask, engine, outputs } = await open(
      {
        go: [
          [call('f', 'c\n')],
          [write('a', '2\n'), write('b', '2\n'), write('d', '2\n'), write('e', '2\n'), write('f', '2\n')],
          [call('a', 'c\n'), call('b'), call('d', 'c\n'), call('e', '1\n')],
          [write('a', '3\n')],
          [read('d')],
          [write('d', '3\n')],
        ],
      },
      [sed],
    )
    for (const name of ['a', 'b', 'd', 'e', 'f']) put(name, '1\n')
    const runId = await ask('go')
    expect((await outputs(runId)).at(-3)).toMatchObject({
      error: 'a was changed by its own command (a) since you read it',
    })
    put('f', 'mine\n')
    const { refused, unchanged, cannotUndo } = await undo(engine, runId)
    expect({ unchanged, refused: refused.toSorted((x, y) => (x.path < y.path ? -1 : 1)) }).toEqual({
      unchanged: [at('e')],
      refused: [
        { path: at('a'), why: 'changed by its own command (a) since' },
        { path: at('b'), why: 'removed by its own command (b) since' },
        { path: at('d'), why: 'changed by its own command (d) in between' },
        { path: at('f'), why: 'changed outside heddle since' },
      ],
    })
    const touched = { folder: pool.folder, created: [], changed: [], removed: [], more: 0 }
    expect(cannotUndo.slice(0, 3)).toEqual([
      { runId, name: 'sed', about: 'f', touched: { ...touched, changed: ['f'] } },
      { runId, name: 'sed', about: 'a', touched: { ...touched, changed: ['a'] } },
      { runId, name: 'sed', about: 'b', touched: { ...touched, removed: ['b'] } },
    ])
  })

  test('a run that is not over is refused with what to do', async () => {
    const held = gate()
    const wait = testTool('wait', 'pure', (_, signal) => held.pass(signal))
    const { engine, folder, say } = await open({ go: [[write('a', '2\n')], [{ name: 'wait', input: {} }]] }, [wait])
    const { runId } = await say('go', { folder })
    await held.reached
    await expect(undo(engine, runId ?? '')).rejects.toMatchObject({
      code: 'not_finished',
      remedy: expect.stringContaining('heddle cancel run:'),
    })
    held.open()
    await pool.until(async (rows) => (await runsOf(rows, { live: true })).length === 0)
    expect(existsSync(at('a'))).toBe(true)
  })

  test('an undo is kept as such: whoever had read the file is told, and nothing that it took away is lost', async () => {
    const poke = testTool('poke', 'pure', async () => void (await undo(pool.engine, earlier)))
    let earlier = ''
    const { put, ask, outputs, engine } = await open(
      { go: [[write('a', '2\n')]], next: [[read('a')], [{ name: 'poke', input: {} }], [write('a', '3\n')]] },
      [poke],
    )
    put('a', '1\n')
    earlier = await ask('go')
    const [, , refused] = await outputs(await ask('next', 'other'))
    expect(refused).toMatchObject({ error: 'a was changed by an undo since you read it' })
    const contents = await engine.store.read((rows) => rows.all(rows.build.selectFrom('file_contents').selectAll()))
    expect(contents).toHaveLength(2)
  })

  test('an undo that dies at any commit is finished by the next', async () => {
    const { put, content, ask, engine, changes } = await open({ go: [[write('a', '2\n'), write('b', '2\n')]] })
    for (let dieAt = 1; dieAt <= 6; dieAt++) {
      put('a', '1\n')
      put('b', '1\n')
      const runId = await ask('go', `s${dieAt}`)
      let passed = 0
      const pass = () => {
        if (++passed === dieAt) throw new Error('dead')
      }
      const dying: Store['write'] = async (area, body) => {
        pass()
        const value = await engine.store.write(area, body)
        pass()
        return value
      }
      await expect(undo({ ...engine, store: { ...engine.store, write: dying } }, runId)).rejects.toThrow('dead')
      expect(await undo(engine, runId)).toMatchObject({ refused: [] })
      expect([content('a'), content('b'), pool.names()]).toEqual(['1\n', '1\n', ['a', 'b']])
      expect((await changes(runId)).every(({ undoneAt }) => undoneAt !== null)).toBe(true)
    }
  })

  test('a folder that became a link to somewhere else is not followed out', async () => {
    const { ask, engine, folder } = await open({ go: [[write('deep/a', '2\n')]] })
    const runId = await ask('go')
    rmSync(at('deep'), { recursive: true })
    const outside = `${folder}-outside`
    mkdirSync(outside)
    writeFileSync(join(outside, 'a'), '2\n')
    symlinkSync(outside, at('deep'))
    expect((await undo(engine, runId)).refused).toEqual([
      { path: at('deep/a'), why: "deep/a leads out of the session's folder" },
    ])
    expect(existsSync(join(outside, 'a'))).toBe(true)
    rmSync(outside, { recursive: true })
    rmSync(at('deep'))
    pool.put('deep', '')
    const runsHome = { ...engine, protect: { ...nothingProtected, hidden: [folder] } }
    expect((await undo(runsHome, runId)).refused).toMatchObject([{ why: expect.stringContaining('leads out') }])
  })
})
