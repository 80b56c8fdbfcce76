import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TurnLine } from '../../src/api/views/turn.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

const append = (label: string, user: string, ...more: string[]) =>
  heddle.json<{ turnId: string }>('append', '-s', label, '--user', user, '--assistant', `${user}!`, ...more)
const turnsOf = async (...args: string[]) => (await heddle.json<{ turns: TurnLine[] }>('log', ...args)).turns

describe('the first command', () => {
  test('makes a private home, asks nothing and says in one line what it made', async () => {
    const { code, out, err } = await heddle.run()
    expect({ code, err }).toEqual({
      code: 0,
      err: `created ${heddle.home} (private to you); nothing else was touched\n`,
    })
    expect(out).toContain(heddle.folder)
    expect((await heddle.run()).err).toBe('')
  })

  test('with --json prints one document and nothing else', async () => {
    const { out } = await heddle.run('sessions', '--json')
    expect(JSON.parse(out)).toEqual({ sessions: [] })
  })

  test('init says what it made and, asked again, that nothing was missing', async () => {
    const first = await heddle.json<{ created: string[]; kept: string[] }>('init')
    expect(first.created).toEqual(
      expect.arrayContaining(['heddle.yaml', 'SOUL.md', 'memory/MEMORY.md'].map((name) => join(heddle.home, name))),
    )
    writeFileSync(join(heddle.home, 'SOUL.md'), 'mine')
    const second = await heddle.json<{ created: string[]; kept: string[] }>('init')
    expect(second.created).toEqual([])
    expect(new Set(second.kept)).toEqual(new Set(first.created))
    expect(readFileSync(join(heddle.home, 'SOUL.md'), 'utf8')).toBe('mine')
  })

  test('doctor changes nothing, not even a missing home', async () => {
    const { ok, checks } = await heddle.json<{ ok: boolean; checks: { name: string }[] }>('doctor')
    expect({ ok, names: checks.map(({ name }) => name) }).toEqual({
      ok: true,
      names: ['node', 'home', 'permissions', 'config', 'exec', 'database', 'daemon', 'disk'],
    })
    expect(existsSync(heddle.home)).toBe(false)
  })

  test('doctor wraps long findings between words on a terminal', async () => {
    const { out } = await heddle.terminal('doctor').ended
    const lines = stripVTControlCharacters(out).split('\r\n')
    expect(lines.filter((line) => line.length > 80)).toEqual([])
    const words = lines.map((line) => line.trim()).join(' ')
    expect(words).toContain(`${heddle.home} does not exist yet; the first command creates it`)
    expect(words).toContain(`${join(heddle.home, 'heddle.db')}: none yet; the first command creates it`)
  })
})

describe('turns and sessions', () => {
  test('append, log, fork, append, diff and show tell one story', async () => {
    const first = await append('main', 'one')
    const second = await append('main', 'two')
    expect(await heddle.json('fork', `turn:${first.turnId.slice(-6)}`, '--as', 'b')).toEqual({
      ok: true,
      session: 'b',
      headTurnId: first.turnId,
    })
    const other = await append('b', 'three')
    expect((await turnsOf('b')).map(({ id, parentId, depth, session }) => ({ id, parentId, depth, session }))).toEqual([
      { id: first.turnId, parentId: null, depth: 1, session: undefined },
      { id: other.turnId, parentId: first.turnId, depth: 2, session: 'b' },
    ])
    expect(await heddle.json('diff', 'main', 'b')).toEqual({
      ancestor: first.turnId,
      a: [second.turnId],
      b: [other.turnId],
      work: {
        a: { files: [], agents: [], tokens: 0, costUsd: 0 },
        b: { files: [], agents: [], tokens: 0, costUsd: 0 },
      },
    })
    expect(await heddle.json('show', second.turnId)).toMatchObject({
      kind: 'turn',
      id: second.turnId,
      parentId: first.turnId,
      depth: 2,
      type: 'normal',
      status: 'completed',
      query: [{ role: 'user', source: 'human', content: 'two' }],
      response: { role: 'assistant', content: 'two!' },
      toolCalls: [],
    })
    expect((await turnsOf('--all')).length).toBe(3)
    expect((await turnsOf('--tips')).map(({ id }) => id)).toEqual([second.turnId, other.turnId])
  })

  test('--parent starts a new session, and insists on the head of an existing one', async () => {
    const first = await append('main', 'one')
    expect(await append('new', 'two', '--parent', first.turnId)).toMatchObject({ ok: true, session: 'new', depth: 2 })
    expect(await append('new', 'three', '--parent', first.turnId)).toMatchObject({
      ok: false,
      error: { code: 'not_head' },
    })
  })

  test('a taken label is refused', async () => {
    const { turnId } = await append('main', 'one')
    expect(await heddle.json('fork', turnId, '--as', 'main')).toMatchObject({
      ok: false,
      error: { code: 'label_taken' },
    })
  })

  test('rename, archive and restore change the list and nothing else', async () => {
    await append('main', 'one')
    const list = async (...args: string[]) =>
      (await heddle.json<{ sessions: { label: string; archived: boolean }[] }>('sessions', ...args)).sessions.map(
        ({ label, archived }) => ({ label, archived }),
      )
    await heddle.json('sessions', 'rename', 'main', 'old')
    expect(await list()).toEqual([{ label: 'old', archived: false }])
    await heddle.json('sessions', 'archive', 'old')
    expect([await list(), await list('--all')]).toEqual([[], [{ label: 'old', archived: true }]])
    await heddle.json('sessions', 'restore', 'old')
    expect(await list('ls')).toEqual([{ label: 'old', archived: false }])
    expect((await turnsOf('old')).length).toBe(1)
  })

  test('sessions belong to their folder', async () => {
    await append('main', 'one')
    const elsewhere = await heddle.runWith({ cwd: join(heddle.folder, '..') }, 'sessions')
    expect(elsewhere.out).toContain('1 in other folders or archived    heddle sessions --all')
  })

  test('export, import, backup and restore bring everything back', async () => {
    await append('main', 'one')
    const exported = (await heddle.run('export')).out
    const copy = newHeddle()
    const report = JSON.parse((await copy.runWith({ input: exported }, 'import', '-', '--json')).out)
    expect(report).toMatchObject({ ok: true, imported: 1, skipped: 0 })
    expect((await copy.run('export')).out).toBe(exported)
    copy.remove()

    const file = join(heddle.folder, 'a.backup')
    expect(await heddle.json('backup', file)).toMatchObject({ ok: true, turns: 1 })
    expect(await heddle.json('backup', file)).toMatchObject({ ok: false, error: { code: 'backup_exists' } })
    await append('main', 'two')
    const restored = await heddle.json<{ keptAside: string }>('restore', file)
    expect(restored).toMatchObject({ ok: true, turns: 1 })
    expect(existsSync(restored.keptAside)).toBe(true)
    expect((await turnsOf('main')).length).toBe(1)
  })

  test('events are told in order and read on from a cursor', async () => {
    await append('main', 'one')
    const { events, cursor } = await heddle.json<{ events: { kind: string }[]; cursor: string }>('event')
    expect(events.map(({ kind }) => kind)).toEqual(['session.created', 'turn.added'])
    expect(await heddle.json('event', '--after', cursor)).toEqual({ events: [], cursor })
    expect(await heddle.json('event', '--after', 'nonsense')).toMatchObject({
      ok: false,
      error: { code: 'bad_cursor' },
    })
  })
})

describe('misuse', () => {
  test.each([
    [['frok'], 2, 'unknown_command', 'heddle fork'],
    [['log', '--grpah'], 2, 'unknown_option', '--graph'],
    [['fork'], 2, 'missing_argument', 'heddle --help'],
    [['append', '--user', 'x'], 2, 'missing_mandatory_option_value', 'heddle --help'],
    [['append', '--assistant', 'x'], 2, 'empty_turn', '--user'],
    [['append', '-s', 'a b', '--user', 'x', '--assistant', 'y'], 2, 'bad_label', 'letters'],
    [['append', '--source', 'alien', '--user', 'x', '--assistant', 'y'], 2, 'misuse', 'human'],
    [['log', '--limit', 'many'], 2, 'misuse', 'whole number'],
    [['log', 'nowhere'], 1, 'not_found', 'heddle sessions'],
    [['show', 'task:1'], 1, 'not_found', 'heddle tasks'],
    [['import', '/nowhere/at/all'], 1, 'file_unreadable', 'heddle export'],
    [['restore', '/nowhere/at/all'], 1, 'backup_missing', 'path'],
    [['config', 'get', 'agents.maxConcurent'], 2, 'config_key_unknown', 'agents.maxConcurrent'],
    [['personas', 'set', 'A B', '--name', 'x'], 2, 'bad_persona', 'small letters'],
  ])('%j ends with %i, code %s and a remedy', async (args, code, error, remedy) => {
    const spoken = await heddle.run(...args, '--json')
    expect({ code: spoken.code, ...JSON.parse(spoken.out) }).toEqual({
      code,
      ok: false,
      error: { code: error, message: expect.any(String), remedy: expect.stringContaining(remedy) },
    })
    const plain = await heddle.run(...args)
    expect(plain).toMatchObject({ code, out: '' })
    expect(plain.err).toMatch(/\n {2}→ ./)
  })

  test('an unknown key in the configuration stops every command with its line and the nearest key', async () => {
    await heddle.run('init')
    appendFileSync(join(heddle.home, 'heddle.yaml'), '\nagnets: {}\n')
    const { code, err } = await heddle.run('sessions')
    expect(code).toBe(1)
    expect(err).toMatch(/agnets.*agents/s)
    expect(await heddle.run('config', 'check')).toMatchObject({ code: 1 })
    expect(await heddle.json('doctor')).toMatchObject({ ok: false })
  })

  test('text of unknown origin never reaches the terminal as a command to it', async () => {
    const evil = '\u001b]8;;http://evil\u0007click\u001b[2J \u202e'
    const { turnId } = await append('main', evil)
    for (const args of [['log'], ['show', turnId], ['log', '--all', '--graph'], ['log', evil], ['event']]) {
      const { out, err } = await heddle.run(...args)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
      expect(out + err, args.join(' ')).not.toMatch(/[\u001b\u0007\u202e]/)
    }
  })
})

describe('a kill', () => {
  test.each([
    ['append.before_commit#1', 0],
    ['append.after_commit#1', 1],
  ])('at %s leaves %i turns and a database that is whole', async (point, turns) => {
    await heddle.run('init')
    const killed = await heddle.runWith(
      { env: { HEDDLE_CRASH_AT: point } },
      'append',
      '--user',
      'x',
      '--assistant',
      'y',
    )
    expect(killed).toMatchObject({ signal: 'SIGKILL', out: '' })
    expect((await turnsOf('--all')).length).toBe(turns)
    expect(await heddle.json('doctor')).toMatchObject({ ok: true })
  })
})
