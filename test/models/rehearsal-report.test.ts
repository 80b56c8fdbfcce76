import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '../../src/testing.ts'
import { newFolder, type TestFolder } from '../tools/folder.ts'
import { ourAgents, Troupe } from './scripted-agents.ts'

const request = 'survey this folder and write a report with a summary per part'

type Files = Record<string, string | Buffer>

function folderOf(files: Files): TestFolder {
  const folder = newFolder(files)
  onTestFinished(() => folder.remove())
  return folder
}

const words = [
  'ship',
  '',
  '  export const a = 1',
  'export function b() {} // TODO',
  '// TODO tie',
  '3 lines',
  'größe 船',
]

function someText(seed: number): string {
  const random = seededRandom(seed)
  const [lines = 0, end = 0] = random.bytes(2)
  const text = Array.from({ length: lines % 30 }, () => words[(random.bytes(1)[0] ?? 0) % words.length]).join('\n')
  return end % 3 === 0 ? text : `${text}\n`
}

function partsOf(count: number, seed: number): Files {
  const made: Files = {}
  for (let part = 0; part < count; part++)
    for (let file = 0; file <= (seed + part) % 5; file++)
      made[`part${part}/${file % 2 === 0 ? '' : 'inner/'}f${file}.ts`] = someText(seed * 100 + part * 10 + file)
  return made
}

/** Folders, and how many parts each has. */
const folders: [string, Files, number][] = [
  ['one file', { 'only.txt': 'one line\n' }, 1],
  ['one file without an end of line', { 'only.txt': 'export TODO' }, 1],
  ['two parts', partsOf(2, 1), 2],
  ['two parts and files beside them', { ...partsOf(2, 2), 'README.md': '# A\nTODO b\n', 'Z.txt': 'TODO z\n' }, 3],
  ['nine parts', partsOf(9, 3), 9],
  ['everything in src', { 'src/api/a.ts': 'export {}\n', 'src/web/b.ts': 'TODO\n', 'src/x.ts': 'x\n', a: 'a\n' }, 4],
  ['only src, without parts of its own', { 'src/a.ts': 'export const a = 1\n' }, 1],
  [
    'odd names',
    {
      'a b/c:d.txt': 'TODO 1\n',
      'ünï/日本.md': '# 日本\nTODO 2\n',
      "it's/-x.txt": 'TODO 3\n',
      '[x]/(y).txt': 'z\n',
      '3 files/7.txt': 'export 5\n',
      'src/*/q': 'x\n',
    },
    6,
  ],
  ['a binary file', { 'a/p.png': Buffer.from([0x89, 0, 1, 2, 0xff]), 'a/t.txt': 'TODO\n', 'b/empty.txt': '' }, 2],
  [
    'more files than a search shows',
    { ...Object.fromEntries(Array.from({ length: 1100 }, (_, n) => [`many/f${n}.txt`, 'TODO\n'])), 'few/a.ts': 'b\n' },
    2,
  ],
  ['an old report', { ...partsOf(1, 4), 'REPORT.md': 'TODO old\nexport\n', 'S.txt': 'TODO\n' }, 2],
  ...Array.from({ length: 6 }, (_, n): [string, Files, number] => [
    `a folder made from ${n + 1}`,
    partsOf(n + 1, n + 5),
    n + 1,
  ]),
]

/** Counts again, by other means. */
function countedIn(folder: TestFolder, part: string) {
  const [, flat, path = part] = /^(files directly in )?(.*)$/s.exec(part) ?? []
  const root = join(folder.path, path)
  const paths = readdirSync(root, { recursive: flat === undefined, encoding: 'utf8' })
    .map((name) => relative(folder.path, join(root, name)).split(sep).join('/'))
    .filter((name) => statSync(join(folder.path, name)).isFile() && name !== 'REPORT.md')
  const lines = new Map(paths.map((name) => [name, linesOf(readFileSync(join(folder.path, name)))]))
  const all = [...lines.values()].flat()
  return {
    files: paths.length,
    lines: all.length,
    exports: all.filter((line) => /^\s*export\b/.test(line)).length,
    todo: all.filter((line) => line.includes('TODO')).length,
    of: lines,
  }
}

function linesOf(bytes: Buffer): string[] {
  if (bytes.includes(0) || bytes.length === 0) return []
  const lines = bytes.toString('utf8').split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

const many = (count: number, noun: string) => `${count} ${noun}${count === 1 || noun === 'TODO' ? '' : 's'}`

/** Every line that a true report may have below a part, whatever it chose to quote. */
function trueLines(folder: TestFolder, part: string): { first: string; others: Set<string>; counted: number[] } {
  const { files, lines, exports, todo, of } = countedIn(folder, part)
  const counts = [many(files, 'file'), many(lines, 'line'), many(exports, 'export'), many(todo, 'TODO')]
  const others = new Set<string>()
  for (const [path, text] of of) {
    others.add(`- ${path}: ${many(text.length, 'line')}`)
    for (const [at, line] of text.entries()) others.add(`- ${path}:${at + 1}: ${line.trim()}`)
  }
  const binary = [...of.keys()].filter((path) => path.endsWith('.png')).length
  others.add(`- … more files: ${files - Math.min(24, files - binary)}`)
  others.add(`- … more left to do: ${todo - 3}`)
  others.add(`- … more exports: ${exports - 3}`)
  if (binary > 0) others.add(`- not searched: ${many(binary, 'binary file')}`)
  // Beside the first that is left to do, and the result that it comes from.
  return { first: `- ${part}: ${counts.join(', ')}`, others, counted: [files, lines, exports, todo] }
}

test.each(folders)(
  'a report on %s has only numbers and quotes that another count confirms',
  async (_, files, parts) => {
    const folder = folderOf(files)
    const troupe = new Troupe(folder)
    const answer = await troupe.say(request)
    const report = readFileSync(join(folder.path, 'REPORT.md'), 'utf8').trimEnd().split('\n')
    const sections = report.join('\n').split(/^## /m).slice(1)
    expect(sections.length).toBe(parts)
    const sums = [0, 0, 0, 0]
    let numbers = 5
    for (const section of sections) {
      const [part = '', first = '', ...others] = section.split('\n').filter((line) => line !== '')
      const truth = trueLines(folder, part)
      const where = /^( \(first (.+:\d+)\))?\. result:\d+$/.exec(first.slice(truth.first.length))
      expect({ first: first.slice(0, truth.first.length), where }).toEqual({
        first: truth.first,
        where: expect.anything(),
      })
      if (where?.[2]) expect([...truth.others].some((line) => line.startsWith(`- ${where[2]}: `))).toBe(true)
      const quoted = others.filter((line) => line.startsWith('- '))
      expect(quoted.filter((line) => !truth.others.has(line))).toEqual([])
      expect(new Set(quoted).size).toBe(quoted.length)
      for (const [at, value] of truth.counted.entries()) sums[at] = (sums[at] ?? 0) + value
      numbers += 4 + (where?.[2] ? 1 : 0) + quoted.length
    }
    const [all = 0, lines = 0, exports = 0, todo = 0] = sums
    const total = [many(all, 'file'), many(lines, 'line'), many(exports, 'export'), many(todo, 'TODO')].join(', ')
    expect(report[2]).toBe(`${many(parts, 'part')}: ${total}.`)
    expect(report.at(-1)).toMatch(/^REHEARSAL: written by a script from result:/)
    expect(answer).toContain(`wrote REPORT.md: ${many(parts, 'part')}, ${total}; ${report.length} lines`)
    expect(answer).toContain(`${numbers} numbers counted again from the files, ${numbers} agree.`)
  },
)

test('a report goes where it is wanted, and is counted nowhere', async () => {
  const folder = folderOf({ 'docs/a.md': 'TODO a\n', 'docs/R.md': 'TODO old\n', 'R.md': 'TODO b\n', 'src/c.ts': 'c\n' })
  const troupe = new Troupe(folder)
  const answer = await troupe.say('survey this folder into docs/R.md')
  expect(answer).toContain('wrote docs/R.md: 3 parts, 3 files, 3 lines, 0 exports, 2 TODO;')
  expect(answer).toMatch(/\b(\d+) numbers counted again from the files, \1 agree\./)
  expect(readFileSync(join(folder.path, 'R.md'), 'utf8')).toBe('TODO b\n')
})

test('everything that its agents deliver says what it is, and judges nothing', async () => {
  const troupe = new Troupe(folderOf(partsOf(3, 2)))
  const texts = [await troupe.say(request), ...troupe.results.map(({ output }) => output)]
  expect(texts.length).toBe(8)
  for (const text of texts) {
    expect(text).toMatch(/^REHEARSAL: /)
    expect(text).not.toMatch(/\b(good|bad|clean|well|poor|great|nice|should|important|quality)\b/i)
  }
})

test('an empty folder has nothing to survey, and nobody plans anything', async () => {
  for (const files of [{}, { 'REPORT.md': 'old\n' }]) {
    const troupe = new Troupe(folderOf(files))
    expect(await troupe.say(request)).toContain('nothing to survey')
    expect({ tasks: troupe.tasks, agents: troupe.results.map(({ agent }) => agent) }).toEqual({
      tasks: [],
      agents: ['researcher'],
    })
  }
})

test('the plan follows the folder, and the same folder gives the same plan', async () => {
  const plan = async () => {
    const troupe = new Troupe(folderOf({ 'src/api/a.ts': 'a\n', 'src/web/b.ts': 'b\n' }))
    await troupe.say(request)
    return troupe.tasks
  }
  const tasks = await plan()
  expect(tasks.map(({ title, skill, dependsOn }) => [title, skill, dependsOn])).toEqual([
    ['summarise src/api', 'researcher', []],
    ['summarise src/web', 'researcher', []],
    ['write REPORT.md', 'writer', ['part-1', 'part-2']],
    ['check every number', 'code-review', ['report']],
  ])
  expect(await plan()).toEqual(tasks)
})

test('a changed file changes only the lines that depend on it', async () => {
  const folder = folderOf({ 'a/one.txt': 'x\n', 'b/two.txt': 'TODO here\n' })
  const report = async () => {
    await new Troupe(folder).say(request)
    return readFileSync(join(folder.path, 'REPORT.md'), 'utf8').split('\n')
  }
  const before = await report()
  writeFileSync(join(folder.path, 'a/one.txt'), 'x\nTODO now\n')
  const changed = (await report()).filter((line) => !before.includes(line))
  expect(changed).toEqual([
    '2 parts: 2 files, 3 lines, 0 exports, 2 TODO.',
    '- a: 1 file, 2 lines, 0 exports, 1 TODO (first a/one.txt:2). result:3',
    '- a/one.txt: 2 lines',
    '- a/one.txt:2: TODO now',
  ])
})

test('a number that is not so is found by the check, with both values and the line', async () => {
  const folder = folderOf({ 'a/one.txt': 'x\nTODO y\n' })
  const troupe = new Troupe(folder)
  await troupe.say(request)
  const path = join(folder.path, 'REPORT.md')
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace('- a/one.txt: 2 lines', '- a/one.txt: 7 lines').replace('TODO y', 'TODO z'),
  )
  expect(await troupe.say('check every number in REPORT.md')).toContain(
    '12 numbers counted again from the files, 10 agree, 2 differ.',
  )
  expect(troupe.results.at(-1)?.output.split('\n').slice(2)).toEqual([
    'REPORT.md:8: lines of a/one.txt: the report says 7, the files say 2',
    'REPORT.md:9: a/one.txt:2: the report says TODO z, the files say TODO y',
  ])
  rmSync(path)
  expect(await troupe.say('check every number')).toContain('I could not read REPORT.md')
})

test('a task fails on request, and a new brief lets the plan go on', async () => {
  const folder = folderOf(partsOf(3, 1))
  const troupe = new Troupe(folder)
  const stopped = await troupe.say(`${request}, and let task 3 fail`)
  expect(stopped).toContain('task:13 "summarise part2" failed: Failed: the script failed because you asked it to.')
  expect(stopped).toContain('Waiting for it: task:14, task:15')
  expect(stopped).toContain('You decide: retry task:13 · retry task:13 with: NEW BRIEF')
  expect(troupe.tasks.map(({ status }) => status)).toEqual(['completed', 'completed', 'failed', 'blocked', 'blocked'])
  expect(await troupe.say('retry task 3')).toContain('failed because you asked it to')
  expect(await troupe.say('retry task:13 with: count it after all')).toContain('wrote REPORT.md: 3 parts')
  expect(troupe.tasks.map(({ status }) => status)).toEqual(Array(5).fill('completed'))
})

test('a part that is skipped is named as missing in the report', async () => {
  const folder = folderOf(partsOf(2, 1))
  const troupe = new Troupe(folder)
  await troupe.say(`${request}, let task 1 fail`)
  const answer = await troupe.say('skip task:11')
  expect(answer).toContain('wrote REPORT.md: 1 part, ')
  expect(answer).toContain('Missing: part0.')
  expect(answer).toContain('plan:1: 3 completed, 1 skipped.')
  expect(readFileSync(join(folder.path, 'REPORT.md'), 'utf8')).toContain(
    '## part0\n\n- its task was skipped, so nothing of it is counted here\n',
  )
})

test('a check without a new report says that it looks at an older one', async () => {
  const troupe = new Troupe(folderOf(partsOf(1, 1)))
  await troupe.say(request)
  await troupe.say(`${request}, let task 2 fail`)
  expect(await troupe.say('skip it')).toMatch(/ agree\. It is an older report: the task that writes it is skipped\./)
})

test('who says no with a part to drop gets a plan without it; any other reason needs a real model', async () => {
  const files = { 'src/api/a.ts': 'a\n', 'src/web/b.ts': 'b\n', 'src/db/c.ts': 'c\n' }
  const troupe = new Troupe(folderOf(files), { noes: ['please drop src/web'] })
  expect(await troupe.say(request)).toContain('wrote REPORT.md: 2 parts')
  expect(troupe.tasks.map(({ title }) => title)).toEqual([
    'summarise src/api',
    'summarise src/db',
    'write REPORT.md',
    'check every number',
  ])
  const other = new Troupe(folderOf(files), { noes: ['make it nicer'] })
  expect(await other.say(request)).toMatch(/^REHEARSAL: you said no to plan:1: make it nicer\n.*heddle models add/)
  expect(await other.say('drop src/db and src/api')).toContain('wrote REPORT.md: 1 part')
  const unknown = new Troupe(folderOf(files), { noes: ['drop src/old'] })
  expect(await unknown.say(request)).toContain('there is no part "src/old". There are: src/api, src/db, src/web')
})

test('a plan that was refused is started by the words that its page gives', async () => {
  const troupe = new Troupe(folderOf(partsOf(2, 1)), { noes: ['not now'] })
  await troupe.say(request)
  expect(await troupe.say('run plan 1')).toContain('wrote REPORT.md: 2 parts')
})

test('an agent that is not there is left out of the plan', async () => {
  const folder = folderOf(partsOf(2, 1))
  const without = (...names: string[]) =>
    new Troupe(folder, { agents: ourAgents.filter(({ name }) => !names.includes(name)) })
  const unchecked = without('code-review')
  expect(await unchecked.say(request)).toContain('wrote REPORT.md')
  expect(unchecked.tasks.map(({ skill }) => skill)).toEqual(['researcher', 'researcher', 'writer'])
  const unwritten = without('writer')
  expect(await unwritten.say(request)).toMatch(/task:11 "summarise part0" completed: part0: \d/)
  expect(unwritten.tasks.map(({ skill }) => skill)).toEqual(['researcher', 'researcher'])
  expect(await without('project-planner').say(request)).toContain('there is no agent "project-planner" here')
})
