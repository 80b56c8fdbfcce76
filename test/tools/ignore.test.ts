import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { matchesGlob, readGlob } from '../../src/tools/files/glob.ts'
import { search } from '../../src/tools/files/search.ts'
import { isLong } from '../setup/long.ts'
import { newFolder, type TestFolder } from './folder.ts'

let folder: TestFolder
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => folder.remove())

describe('what git ignores is not searched', () => {
  const names = ['a', 'b', 'ab', 'a b', 'a.log', 'b.log', '.a', '#a', '!b', '[a]', 'a*']
  const patterns = fc.oneof(
    fc.constantFrom(
      ...names,
      '*',
      '**',
      '*.log',
      'a*',
      '?',
      '[ab]',
      '[!a]',
      '[a-z].log',
      '\\#a',
      '\\!b',
      '\\*',
      'a\\*',
      ' ',
    ),
    fc.constantFrom(
      '[]a]',
      '[^a]*',
      '[[:alpha:]]',
      '\\[a\\]',
      '[',
      'a\\',
      '***',
      '*a*',
      '.*',
      'a  ',
      'a\\ b',
      '#',
      '?.log',
    ),
    fc
      .array(fc.constantFrom('a', 'b', 'ab', '*', '**', '*.log', '?', '[ab]', 'a*'), { minLength: 2, maxLength: 4 })
      .map((parts) => parts.join('/')),
  )
  const line = fc
    .tuple(fc.constantFrom('', '', '', '!'), fc.constantFrom('', '', '/'), patterns, fc.constantFrom('', '', '/'))
    .map((parts) => parts.join(''))
  const ignoreFile = fc.array(line, { minLength: 1, maxLength: 5 }).map((all) => all.join('\n'))
  const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })

  test('whatever its ignore files say, at every level', async () => {
    execFileSync('git', ['init', '-q'], { cwd: folder.path })
    const tree = fc.record({
      paths: fc.array(path, { minLength: 1, maxLength: 14 }),
      ignores: fc.array(fc.tuple(fc.array(fc.constantFrom(...names), { maxLength: 2 }), ignoreFile), {
        minLength: 1,
        maxLength: 3,
      }),
    })
    await fc.assert(
      fc.asyncProperty(tree, async ({ paths, ignores }) => {
        const root = join(folder.path, 'tree')
        rmSync(root, { recursive: true, force: true })
        mkdirSync(root)
        for (const parts of paths) put(join(root, ...parts), '')
        for (const [parts, text] of ignores) put(join(root, ...parts, '.gitignore'), text)
        const seen: string[] = []
        await search({ at: { folder: root, path: '.' }, pattern: '', isRegex: false }, (found) => seen.push(found.path))
        expect(seen.sort()).toEqual(gitSees(root).sort())
      }),
      {
        numRuns: isLong ? 300 : 100,
        examples: [
          [{ paths: [['a '], ['a'], ['a[']], ignores: [[[], 'a\\ \na[']] }],
          [{ paths: [['a'], ['ab', 'b']], ignores: [[[], '*\n!/***']] }],
        ],
      },
    )
  }, 120_000)

  function gitSees(root: string): string[] {
    const args = ['-c', 'core.excludesFile=', 'ls-files', '-z', '--others', '--exclude-per-directory=.gitignore']
    return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)
  }

  /** A path that a file is in the way of, or that is a directory already, is left out. */
  function put(file: string, text: string): void {
    try {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    } catch {}
  }
})

describe('a pattern of paths', () => {
  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/deep/a.ts', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/x/y/a.ts', true],
    ['**/test/**', 'a/test/b/c', true],
    ['**/test/**', 'a/test', false],
    ['/a', 'a', true],
    ['/a', 'b/a', false],
    ['a[!0-9]b', 'a1b', false],
    ['😀?', '😀😀', true],
  ])('%s against %s: %s', (pattern, path, fits) => {
    const glob = readGlob(pattern)
    expect(glob && matchesGlob(glob, path.split('/'))).toBe(fits)
  })

  test('takes no time that explodes, whatever it holds', () => {
    const glob = readGlob(`${'*a'.repeat(120)}b/${'**/x/'.repeat(60)}y`)
    const names = [`${'a'.repeat(255)}`, ...Array.from({ length: 400 }, () => 'x')]
    expect(glob && matchesGlob(glob, names)).toBe(false)
  })
})
