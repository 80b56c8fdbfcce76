import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { RunView } from '../../src/api/views/run.ts'
import { callTools, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type Started, type TestHeddle } from './heddle.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

let heddle: TestHeddle
let provider: TestProvider
let daemon: Started | undefined
beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: callTools })
  await heddle.run('init')
  writeFileSync(
    join(heddle.home, 'heddle.yaml'),
    `models:\n  main: { provider: openai-compatible, baseURL: "${provider.url}", model: tiny }\ntools: { ask: [] }\nmemory: { narratives: false }\n`,
  )
  writeFileSync(join(heddle.folder, 'a.txt'), 'one\n')
})
afterEach(async () => {
  daemon?.stop('SIGKILL')
  await daemon?.ended
  daemon = undefined
  await provider.close()
  heddle.remove()
})

const at = (name: string) => join(heddle.folder, name)
const content = (name: string) => readFileSync(at(name), 'utf8')
const changing =
  'call read_file({"path":"a.txt"}) then write_file({"path":"a.txt","content":"two\\n"}) and write_file({"path":"new/b.txt","content":"b\\n"})'

test.each(['without a daemon', 'with one'])('undo puts back what a question changed, %s', async (how) => {
  if (how === 'with one') {
    daemon = heddle.start('up')
    await daemon.says('running:')
  }
  const { runId } = await heddle.json<RequestAnswer>('ask', changing)
  expect([content('a.txt'), content('new/b.txt')]).toEqual(['two\n', 'b\n'])
  const view = await heddle.json<RunView>('show', `run:${runId}`)
  expect(view.files.map(({ path, undone }) => [path, undone]).sort()).toEqual([
    ['a.txt', false],
    ['new/b.txt', false],
  ])
  expect((await heddle.run('show', `run:${runId}`)).out).toContain(`heddle undo run:${runId?.slice(-6)}`)

  const dry = await heddle.run('undo', `run:${runId?.slice(-6)}`, '--dry-run')
  expect({ code: dry.code, err: dry.err, lines: dry.out.split('\n').sort() }).toEqual({
    code: 0,
    err: '',
    lines: ['', '  → leave out --dry-run to do it', 'would restore  a.txt', 'would restore  new/b.txt'],
  })
  expect(content('a.txt')).toBe('two\n')

  const undone = await heddle.json<{ restored: string[] }>('undo', `run:${runId}`)
  expect({ ...undone, restored: undone.restored.toSorted() }).toEqual({
    ok: true,
    restored: [at('a.txt'), at('new/b.txt')],
    unchanged: [],
    refused: [],
    cannotUndo: [],
  })
  expect([content('a.txt'), existsSync(at('new/b.txt'))]).toEqual(['one\n', false])
  expect((await heddle.run('show', `run:${runId}`)).out).toContain('a.txt (undone)')
  const again = await heddle.run('undo', `run:${runId}`)
  expect([again.code, again.out]).toEqual([0, 'nothing to undo: no file changed, or already undone\n'])
})

test('a kill between the row and the file, or between the file and its end, is made good by the next command', async () => {
  for (const point of ['step.after_commit#2', 'tool.after_run#1']) {
    const before = content('a.txt')
    const asked = `call write_file({"path":"a.txt","content":"${point}"})`
    const env = { HEDDLE_CRASH_AT: point }
    expect((await heddle.runWith({ env }, 'ask', asked, '-s', point.slice(0, 4))).signal).toBe('SIGKILL')
    expect(content('a.txt')).toBe(point.startsWith('step') ? before : point)
    await heddle.run('ask', 'hello', '-s', point.slice(0, 4))
    expect(content('a.txt')).toBe(point)
    const { runs } = await heddle.json<{ runs: RunView[] }>('ps', '--all')
    const { id } = runs.find(({ session, state }) => session === point.slice(0, 4) && state === 'completed') as RunView
    expect((await heddle.json<RunView>('show', `run:${id}`)).files).toHaveLength(1)
    expect(await heddle.json('undo', `run:${id}`)).toMatchObject({ ok: true, restored: [at('a.txt')] })
    expect(content('a.txt')).toBe(before)
  }
})

test('what is not as the run left it is told with what to do, and the exit code says so', async () => {
  const { runId } = await heddle.json<RequestAnswer>('ask', changing)
  writeFileSync(at('a.txt'), 'mine\n')
  const { code, out } = await heddle.run('undo', `run:${runId}`)
  expect({ code, out }).toEqual({
    code: 1,
    out:
      'removed  new/b.txt (it did not exist before)\nnot changed  a.txt: changed outside heddle since\n' +
      '  → look at what is left with git diff or your editor, and change it by hand\n',
  })
  expect(content('a.txt')).toBe('mine\n')
  expect(await heddle.run('undo', 'run:zzzzzz')).toMatchObject({ code: 1, err: expect.stringContaining('no run') })
})

test('what a command changed is listed with it by undo and by show, and survives a kill right after its end', async () => {
  const command = 'echo 2 > a.txt; mkdir out; > out/b.txt; rm c.txt'
  writeFileSync(at('c.txt'), 'c\n')
  const asked = `call write_file({"path":"a.txt","content":"two\\n"}) then exec({"command":"${command}"}) then exec({"command":"true"})`
  const env = { HEDDLE_CRASH_AT: 'tool.after_run#3' }
  expect((await heddle.runWith({ env }, 'ask', asked)).signal).toBe('SIGKILL')
  await heddle.run('ask', 'hello')
  const { runs } = await heddle.json<{ runs: RunView[] }>('ps', '--all')
  const views = await Promise.all(runs.map(({ id }) => heddle.json<RunView>('show', `run:${id}`)))
  const view = views.find(({ commands }) => commands.length > 0) as RunView
  const touched = {
    folder: heddle.folder,
    created: ['out/b.txt'],
    changed: ['a.txt'],
    removed: ['c.txt'],
    more: 0,
    unrecorded: 0,
  }
  const commands = [
    { name: 'exec', about: command, touched },
    { name: 'exec', about: 'true' },
  ]
  expect(view.commands).toEqual(commands)
  const lines = [
    `  exec ${command}`,
    '    changed  a.txt',
    '    removed  c.txt',
    '    created  out/b.txt',
    '  exec true: what it changed is unknown',
  ]
  expect((await heddle.run('show', `run:${view.id}`)).out).toContain(`commands\n${lines.join('\n')}\n`)
  expect((await heddle.run('undo', `run:${view.id}`)).out.split('\n')).toEqual([
    `not changed  a.txt: changed by its own command (${command}) since`,
    'changed by commands, cannot be restored:',
    ...lines,
    '  → look at what is left with git diff or your editor, and change it by hand',
    '',
  ])
  expect(await heddle.json('undo', `run:${view.id}`)).toMatchObject({
    cannotUndo: commands.map((each) => ({ runId: view.id, ...each })),
  })
})
