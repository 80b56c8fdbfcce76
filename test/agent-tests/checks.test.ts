import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Evidence, PlannedTask } from '../../src/agent-tests/evidence.ts'
import { readFixture } from '../../src/agent-tests/fixture.ts'
import { fixtureTemplate } from '../../src/agent-tests/fixture-template.ts'
import { folderState } from '../../src/agent-tests/folder-state.ts'
import { judge } from '../../src/agent-tests/judge.ts'
import { readChecks } from '../../src/agent-tests/read-checks.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-checks-')))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

/** What one check makes of a run: its verdict in words. */
async function look(check: Record<string, unknown>, evidence: Partial<Evidence> = {}): Promise<string> {
  const read = readChecks(JSON.stringify({ checks: [check] }))
  if ('problems' in read) throw new Error(read.problems.join('\n'))
  const nothing = { state: 'completed' as const, why: '', text: '', calls: [], modelCalls: 1, tools: [], plans: [] }
  const state = folderState(root)
  const run = async () => ({ obstacle: 'there is no sandbox' })
  const [, judged] = await judge(read.checks, {
    ...nothing,
    folder: root,
    before: state,
    after: state,
    run,
    ...evidence,
  })
  return `${judged?.ok ? 'ok' : 'FAILED'} ${judged?.saw}`
}

const task = (id: number, dependsOn: number[], context = 'x'): PlannedTask => ({
  ...{ id, key: `t${id}`, title: `Task ${id}`, skill: 'coder', dependsOn, context },
})

describe('a plan', () => {
  const plan = [task(1, []), task(2, [1]), task(3, [1, 2])]

  test.each([
    [{ check: 'plan_tasks', atLeast: 3, atMost: 3 }, [plan], 'ok 3: Task 1, Task 2, Task 3'],
    [{ check: 'plan_tasks', atLeast: 4 }, [plan], 'FAILED 3: Task 1, Task 2, Task 3'],
    [{ check: 'plan_tasks' }, [], 'FAILED no plan'],
    [{ check: 'plan_tasks' }, [plan, plan], 'FAILED 2 plans'],
    [{ check: 'plan_order', edges: 3 }, [plan], 'ok 3 times'],
    [{ check: 'plan_order', edges: 4 }, [plan], 'FAILED 3 times'],
    [{ check: 'plan_order' }, [[task(1, []), task(2, [3]), task(3, [2])]], 'FAILED these wait for each other: t2, t3'],
    [{ check: 'plan_order' }, [[task(1, [1])]], 'FAILED these wait for each other: t1'],
    [{ check: 'plan_briefs', atLeast: 2 }, [[task(1, [], 'xx'), task(2, [], 'x ')]], 'FAILED t2 has 1'],
    [{ check: 'plan_briefs', atLeast: 1 }, [plan], 'ok all do'],
    [{ check: 'plan_mentions', text: 'A.md', tasks: 2 }, [[task(1, [], 'a.md'), task(2, [])]], 'FAILED 1 of 2'],
    [{ check: 'plan_agents', include: ['coder', 'tester'] }, [plan], 'FAILED coder'],
    [{ check: 'plan_agents', include: ['coder'] }, [plan], 'ok coder'],
  ])('%j of %j: %s', async (check, plans, expected) => {
    expect(await look(check, { plans })).toBe(expected)
  })
})

describe('an answer', () => {
  beforeEach(() => write({ 'src/a.mjs': 'one\ntwo\nthree\n' }))

  test.each([
    [{ check: 'first_paragraph', atMost: 5 }, 'hello\n\nand more of it', 'ok 5 characters'],
    [{ check: 'first_paragraph', atMost: 4 }, 'hello\n\nand more of it', 'FAILED 5 characters'],
    [{ check: 'first_paragraph' }, '', 'FAILED no answer'],
    [{ check: 'places' }, 'see `src/a.mjs:3`, and https://files.example:80', 'ok src/a.mjs:3'],
    [{ check: 'places' }, 'see src/b.mjs:3', 'FAILED none'],
    [{ check: 'places' }, 'see src/a.mjs:4', 'FAILED lines that do not exist: src/a.mjs:4'],
    [{ check: 'places', atLeast: 2 }, 'src/a.mjs:1, src/a.mjs:1', 'FAILED src/a.mjs:1'],
    [{ check: 'place', path: 'src/a.mjs', from: 2, to: 2 }, './src/a.mjs:1-3', 'ok src/a.mjs:1-3'],
    [{ check: 'place', path: 'src/a.mjs', from: 2, to: 2 }, 'src/a.mjs:3', 'FAILED src/a.mjs:3'],
    [{ check: 'answer_matches', pattern: 'not\\s+ready' }, 'Verdict: NOT ready', 'ok "Verdict: NOT ready"'],
    [{ check: 'answer_matches', pattern: 'not ready' }, 'Verdict: ready', 'FAILED "Verdict: ready"'],
    [{ check: 'answer_lacks', text: 'TODO' }, 'one todo left', 'FAILED "todo left"'],
  ])('%j of %j: %s', async (check, text, expected) => {
    expect(await look(check, { text })).toBe(expected)
  })

  test('a place may be told by its whole path', async () => {
    expect(await look({ check: 'places' }, { text: `see ${root}/src/a.mjs:2` })).toBe('ok src/a.mjs:2')
  })
})

describe('files', () => {
  test.each([
    ['Files:\na.md\nb/c.md', 'ok a.md, b/c.md'],
    ['**Files:**\n- `a.md` (new)\n- `./b/c.md`', 'ok a.md, b/c.md'],
    ['Files: a.md, b/c.md', 'ok a.md, b/c.md'],
    ['Files:\na.md', 'FAILED b/c.md is not listed'],
    ['Files:\na.md\nb/c.md\nd.md', 'FAILED d.md is listed and was not written'],
    ['I wrote a.md and b/c.md', 'FAILED a.md is not listed, b/c.md is not listed'],
  ])('the list %j: %s', async (text, expected) => {
    write({ 'a.md': 'a', 'b/c.md': 'c' })
    expect(await look({ check: 'files_list' }, { text, before: new Map() })).toBe(expected)
  })

  test('no list is needed where nothing was written', async () => {
    expect(await look({ check: 'files_list' }, { text: 'nothing to do' })).toBe('ok nothing')
  })

  test('what was made, changed and removed is told', async () => {
    write({ 'a.md': 'a', 'b.md': 'b' })
    const before = new Map([...folderState(root)].map(([path, hash]) => [path === 'b.md' ? 'c.md' : path, hash]))
    before.set('a.md', 'other')
    const wrong = 'FAILED b.md made, a.md changed, c.md removed'
    expect(await look({ check: 'unchanged' }, { before })).toBe(wrong)
    expect(await look({ check: 'unchanged', except: ['a.md', 'b.md', 'c.md'] }, { before })).toBe('ok nothing else')
    expect(await look({ check: 'unchanged', paths: ['c.md'] }, { before })).toBe('FAILED c.md removed')
  })

  test('a link that leads out of the folder is no file of it', async () => {
    const [folder, outside] = [join(root, 'folder'), join(root, 'outside.txt')]
    write({ 'folder/in.txt': 'in', 'outside.txt': 'secret' })
    symlinkSync(outside, join(folder, 'out.txt'))
    const check = { check: 'file_contains', path: 'out.txt', text: 'secret' }
    expect(await look(check, { folder })).toBe('FAILED no such file')
    expect(folderState(folder).get('out.txt')).toBe(`link to ${outside}`)
  })
})

describe('work', () => {
  test('a command where none can be run fails and says why', async () => {
    const told = 'FAILED no command can be run here: there is no sandbox'
    expect(await look({ check: 'command', command: 'true' })).toBe(told)
  })

  test('a command that ends otherwise tells how, and what it said last', async () => {
    const run = async () => ({ code: 3, output: 'one\ntwo\n' })
    expect(await look({ check: 'command', command: 'x' }, { run })).toBe('FAILED 3, and at the end: one / two')
    expect(await look({ check: 'command', command: 'x', exit: 3, contains: 'one' }, { run })).toBe('ok 3')
    expect(await look({ check: 'command', command: 'x', exit: 3, contains: 'zwei' }, { run })).toMatch(/^FAILED/)
  })

  test('only calls that worked count as use', async () => {
    const calls = [{ name: 'exec', status: 'error' as const }]
    expect(await look({ check: 'tool_used', tool: 'exec' }, { calls })).toBe('FAILED 0 calls that worked')
    expect(await look({ check: 'tools_within' }, { calls })).toBe('FAILED exec')
    expect(await look({ check: 'tools_within' }, { calls, tools: ['exec'] })).toBe('ok exec')
  })
})

describe('a test that cannot be used says everything that is wrong with it', () => {
  test.each([
    ['{', ['it must be a JSON object with a list of checks']],
    ['{"checks":[]}', ['checks must be a list with at least one check']],
    [
      '{"checks":[{"check":"file_exist"},{"check":"file_exists","path":"../a"},{},7]}',
      [
        'check 1: there is no check "file_exist"; did you mean file_exists?',
        'check 2 (file_exists): path: must be a path relative to the folder, such as src/a.js',
        expect.stringMatching(/^check 3: there is no check without a name; there are: file_exists, /),
        'check 4: must be an object such as { "check": "file_exists", … }',
      ],
    ],
    [
      '{"timeoutSeconds":0,"also":1,"checks":[{"check":"answer_matches","pattern":"("}]}',
      [
        'also is not known: only checks and timeoutSeconds are',
        'timeoutSeconds must be a whole number above 0',
        'check 1 (answer_matches): pattern: must be a regular expression',
      ],
    ],
    ['{"checks":[{"check":"unchanged","says":""}]}', ['check 1 (unchanged): says must be a sentence']],
    ['{"checks":[{"check":"place","path":"a","from":3,"to":2}]}', [expect.stringContaining('from must not be')]],
  ])('%s', (text, problems) => {
    expect(readChecks(text)).toEqual({ problems })
  })

  test('files that are missing are named', () => {
    write({ 'files/a.txt': 'a' })
    expect(() => readFixture(root)).toThrow(/task\.md is missing or empty.*\n.*checks\.json is missing/)
  })

  test('a link among its files is refused: it could hand anything to a model', () => {
    write({ ...fixtureTemplate, 'secret.txt': 'secret' })
    expect(readFixture(root).files.map(({ path }) => path)).toEqual(['notes.txt'])
    symlinkSync(join(root, 'secret.txt'), join(root, 'files/more.txt'))
    expect(() => readFixture(root)).toThrow('files/more.txt is a link or no file')
    rmSync(join(root, 'files'), { recursive: true })
    symlinkSync('/etc', join(root, 'files'))
    expect(() => readFixture(root)).toThrow('files is not a directory')
    rmSync(join(root, 'task.md'))
    symlinkSync(join(root, 'secret.txt'), join(root, 'task.md'))
    expect(() => readFixture(root)).toThrow('task.md is missing')
  })
})
