import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { rehearsalModel } from '../../src/rehearsal/rehearsal.ts'
import { systemClock } from '../../src/system.ts'
import { openTestApp, seededRandom, type TestApp } from '../../src/testing.ts'
import { inTurn, isLong } from '../setup/long.ts'

let folder: string
let app: TestApp | undefined
afterEach(async () => {
  await app?.remove()
  app = undefined
  rmSync(folder, { recursive: true, force: true })
})

async function ask(content: string): Promise<string> {
  app ??= await openTestApp({ models: [rehearsalModel({ clock: systemClock })] })
  const work = await app.work()
  const { itemId } = await app.submit(folder, { session: 'main', content, agent: 'general' })
  const never = new AbortController().signal
  let answered = await app.answer(folder, itemId, never)
  for (const { id, hash } of await app.approvals()) await app.decide(String(id), { answer: 'once', hash })
  if (answered.approvals) answered = await app.answer(folder, itemId, never)
  await work.stop()
  return answered.text
}

/** The folders that people have: path → content. */
type Files = Record<string, string | Buffer>

const words = ['ship', 'sail', 'rope', 'TODO tie it', 'knot', '// TODO check', 'deck', 'größe', '船', '🚢']

function someText(seed: number): string {
  const random = seededRandom(seed)
  const [lines = 0] = random.bytes(1)
  return `${Array.from({ length: lines % 40 }, () => words[(random.bytes(1)[0] ?? 0) % words.length]).join('\n')}\n`
}

function generated(seed: number): Files {
  const [parts = 0, files = 0] = seededRandom(seed).bytes(2)
  const made: Files = {}
  for (let part = 0; part < parts % 5; part++)
    for (let file = 0; file < (files % 7) + 1; file++)
      made[`part${part}/${file % 2 === 0 ? '' : 'inner/'}file${file}.txt`] = someText(seed * 1000 + part * 10 + file)
  if (seed % 2 === 0) made['README.md'] = `# Folder ${seed}\n\n${someText(seed)}`
  return made
}

const folders: [string, Files][] = [
  ['an empty folder', {}],
  ['one file', { 'only.txt': 'one line\n' }],
  ['one file without an end of line', { 'only.txt': 'TODO' }],
  ['a binary file', { 'picture.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff]), 'a.txt': 'TODO x\n' }],
  [
    'odd names',
    { 'a b/c:d.txt': 'TODO 1\n', 'ünï/日本.md': '# 日本\nTODO 2\n', "it's/-x.txt": 'TODO 3\n', '[x]/(y).txt': 'z\n' },
  ],
  ['two languages', { 'src/a.ts': 'export const a = 1 // TODO\n', 'py/b.py': 'def b(): # TODO\n  pass\n' }],
  [
    'many files',
    Object.fromEntries(
      Array.from({ length: isLong ? 5000 : 600 }, (_, n) => [`d${n % 10}/f${n}.txt`, n % 100 === 0 ? 'TODO\n' : 'x\n']),
    ),
  ],
  ...Array.from({ length: 13 }, (_, n): [string, Files] => [`a folder made from ${n + 1}`, generated(n + 1)]),
]

function make(files: Files): void {
  folder = mkdtempSync(join(tmpdir(), 'heddle-survey-'))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

/** Counts again, by other means. */
function counted(part = '.') {
  const root = join(folder, part)
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => join(root, path))
    .filter((path) => statSync(path).isFile())
  const todo = paths.flatMap((path) => {
    const bytes = readFileSync(path)
    if (bytes.includes(0)) return []
    const lines = bytes.toString('utf8').split('\n')
    return lines.flatMap((line, at) =>
      line.includes('TODO') ? [`${relative(folder, path)}:${at + 1}: ${line.trim()}`] : [],
    )
  })
  return { files: paths.length, todo }
}

describe('a survey by the stand-in', () => {
  test.each(inTurn(folders, 4))('of %s has only numbers and quotes that another count confirms', async (_, files) => {
    make(files)
    const text = await ask('survey this folder')
    expect(text).toMatch(/^REHEARSAL: /)
    const all = counted()
    if (all.files === 0) {
      expect(text).toContain('nothing to survey')
      return
    }
    expect(text).toMatch(new RegExp(`^REHEARSAL: ${all.files} files? in \\d+ director`))
    expect(text).toContain(`${all.todo.length} line${all.todo.length === 1 ? '' : 's'} with TODO`)
    for (const part of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      const own = counted(part.name)
      expect(text).toContain(`${part.name}/: ${own.files} file${own.files === 1 ? '' : 's'}, ${own.todo.length} TODO`)
    }
    const quotes = text.split('\n').filter((line) => /:\d+: /.test(line) && line.includes('TODO'))
    for (const quote of quotes) expect(all.todo).toContain(quote)
  })

  test('changes only where a changed file matters', async () => {
    make({ 'a/one.txt': 'x\n', 'b/two.txt': 'TODO here\n', 'README.md': '# Hello\n' })
    const before = (await ask('survey this folder')).split('\n')
    writeFileSync(join(folder, 'a/one.txt'), 'TODO now\n')
    const after = (await ask('survey this folder')).split('\n')
    const changed = after.filter((line) => !before.includes(line))
    expect(changed).toEqual([
      expect.stringContaining('2 lines with TODO'),
      'a/: 1 file, 1 TODO',
      'a/one.txt:1: TODO now',
    ])
  })
})

test('it finds, outlines and counts, with path and line', async () => {
  make({
    'src/ship.ts': 'export function sail() {}\nconst x = 1\nexport class Ship {}\n',
    'notes.md': '# A\ntext\n## B\n',
  })
  expect(await ask('find "Ship" in src')).toBe(
    'REHEARSAL: "Ship" in src: 1 in 1 file.\nsrc/ship.ts:3: export class Ship {}',
  )
  expect(await ask('outline notes.md')).toBe(
    'REHEARSAL: notes.md: 3 lines, 2 headings.\nnotes.md:1: # A\nnotes.md:3: ## B',
  )
  expect(await ask('outline src/ship.ts')).toContain('src/ship.ts:1: export function sail() {}')
  expect(await ask('count lines in src/ship.ts')).toBe('REHEARSAL: src/ship.ts: 3 lines.')
  expect(await ask('how many files are there?')).toBe('REHEARSAL: this folder: 2 files.')
  expect(await ask('count "export"')).toContain('2 lines in 1 file. The first is src/ship.ts:1.')
})

test('it counts what it is asked to count, however the place is named, and refuses what it cannot count', async () => {
  make({ 'src/ship.ts': 'export const a = 1\n// TODO sail\n', 'src/rope.ts': 'x\n', 'notes.md': '# A\nin src\n' })
  const answers = {
    'count the files in this folder': 'this folder: 3 files.',
    'how many files are in this folder?': 'this folder: 3 files.',
    'How many files does this project have?': 'this folder: 3 files.',
    'count all files here': 'this folder: 3 files.',
    'how many files are there in src?': 'src: 2 files.',
    'how many files does src have?': 'src: 2 files.',
    'how many lines are in this folder?': 'this folder: 5 lines in 3 files.',
    'count the lines of src/ship.ts': 'src/ship.ts: 2 lines.',
    'how many TODOs are in this folder?': '"TODO": 1 line in 1 file. The first is src/ship.ts:2.',
    'count "in src"': '"in src": 1 line in 1 file. The first is notes.md:2.',
    'find TODO in this folder': '"TODO": 1 in 1 file.\nsrc/ship.ts:2: // TODO sail',
  }
  for (const [asked, answer] of Object.entries(answers)) expect(await ask(asked), asked).toBe(`REHEARSAL: ${answer}`)
  expect(await ask('how many folders are in this folder?')).toContain('I am a script and cannot do that')
})

test('it counts files of a kind and bytes of a file, and refuses kinds and words that it does not know', async () => {
  make({ 'one.txt': 'one\n', 'src/a.ts': 'x\n', 'src/b.ts': 'x\n', 'src/c.tsx': 'x\n', 'src/d.md': '', 'e.ts': '' })
  writeFileSync(join(folder, 'logo.png'), Buffer.from([0x89, 0x50, 0, 1, 2]))
  const answers = {
    'how many .ts files are there?': 'this folder: 3 .ts files.',
    'how many *.ts files are in src?': 'src: 2 .ts files.',
    'how many TypeScript files are in src?': 'src: 3 TypeScript files.',
    'how many ts files does src have?': 'src: 2 ts files.',
    'how many .png files are there?': 'this folder: 1 .png file.',
    'count the .rs files': 'this folder: 0 .rs files.',
    'How many bytes has one.txt?': 'one.txt: 4 bytes.',
    'how many bytes does src/a.ts have?': 'src/a.ts: 2 bytes.',
    'count the bytes of src/d.md': 'src/d.md: 0 bytes.',
    'how many lines has one.txt?': 'one.txt: 1 line.',
    'how many bytes has two.txt?': 'I could not count: two.txt is not among the files there',
    'count ".ts files"': '".ts files": 0 lines in 0 files.\nnot searched: 1 binary file',
  }
  for (const [asked, answer] of Object.entries(answers)) expect(await ask(asked), asked).toBe(`REHEARSAL: ${answer}`)
  for (const asked of ['how many empty files are there?', 'how many bytes are there?', 'how many red cars are in src?'])
    expect(await ask(asked), asked).toContain('I am a script and cannot do that')
})

test('it writes what it is given or counted, and runs what it is given, when somebody lets it', async () => {
  make({ 'src/a.txt': 'TODO one\n', 'b.txt': 'two\n' })
  const at = (path: string) => join(folder, path)
  expect(await ask('write NOTES.md: buy milk')).toBe('REHEARSAL: wrote NOTES.md: 1 line, 9 bytes.')
  expect(readFileSync(at('NOTES.md'), 'utf8')).toBe('buy milk\n')
  expect(await ask('survey this folder into REPORT.md')).toMatch(/^REHEARSAL: wrote REPORT.md: \d+ lines/)
  const report = readFileSync(at('REPORT.md'), 'utf8')
  expect(report.trimEnd().split('\n').at(-1)).toBe('REHEARSAL: counted by a script, not by a model.')
  expect(report).toContain('src/: 1 file, 1 TODO')
  expect(await ask('run `cat src/a.txt; exit 3`')).toBe('REHEARSAL: $ cat src/a.txt; exit 3: exit 3, 1 line.\nTODO one')
  expect(await ask('write ../out.txt: no')).toMatch(/^REHEARSAL: I did not write/)
})

test('what is not in its repertoire it refuses, with the way to a real model', async () => {
  make({})
  const text = await ask('write me a poem about the sea')
  expect(text).toMatch(/^REHEARSAL: I am a script and cannot do that; .*heddle models add/)
  expect(await ask('fail')).toContain('the script failed because you asked it to')
  expect(await ask('ask me something')).toMatch(/\?/)
  expect(await ask('outline ../../etc/passwd')).toMatch(/^REHEARSAL: I could not read/)
})

test('it uses no words of judgement, and every answer says what it is', async () => {
  make({ 'a.txt': 'TODO\n' })
  for (const asked of ['survey this folder', 'count files', 'find TODO', 'outline a.txt', 'poem']) {
    const text = await ask(asked)
    expect(text).toMatch(/^REHEARSAL: /)
    expect(text).not.toMatch(/\b(good|bad|clean|well|poor|great|nice|should|important|quality)\b/i)
  }
})
