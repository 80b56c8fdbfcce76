import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const read = (page: string) => readFileSync(join(root, page), 'utf8')
const filesIn = (pattern: string) => globSync(pattern, { cwd: root })

describe('ARCHITECTURE.md', () => {
  const page = read('ARCHITECTURE.md')
  const sources = ['test', ...filesIn('{src,web,test,scripts}/**/*')].filter((path) => !path.includes('node_modules'))
  const matching = (name: string) => sources.filter((path) => `/${path}`.endsWith(`/${name}`))
  const isThere = (name: string) => matching(name).length > 0

  test('links each decision that it cites, and cites each that it links', () => {
    const links = [...page.matchAll(/^\[(D\d+)\]: /gm)].map(([, name]) => name)
    const cited = [...page.replaceAll(/^\[D\d+\]: .*$/gm, '').matchAll(/\[(D\d+)\]/g)].map(([, name]) => name)
    expect(links.toSorted()).toEqual([...new Set(cited)].toSorted())
  })

  test('names files, folders and functions that exist', () => {
    const paths = [...page.matchAll(/`([\w./-]+(?:\.(?:ts|css|sql)|\/))`/g)].map(([, path = '']) => path)
    const missing = paths.filter((path) => !/NOUN|NAME/.test(path)).filter((path) => !isThere(path.replace(/\/$/, '')))
    expect(missing).toEqual([])
    const functions = [...page.matchAll(/`([\w./-]+\.ts)` \(`(\w+)`/g)].map(([, path = '', name = '']) => ({
      path,
      name,
    }))
    const unknown = functions.filter(
      ({ path, name }) => !matching(path).some((file) => new RegExp(`\\b${name}\\b`).test(read(file))),
    )
    expect(functions.length).toBeGreaterThan(10)
    expect(unknown).toEqual([])
  })

  test('names a test for each thing that must hold', () => {
    const rows = [...page.matchAll(/^\| (\d+) \|.*\| ([^|]+) \|$/gm)]
    const named = rows.flatMap(([, number, tests = '']) => tests.split(/[,;] /).map((name) => ({ number, name })))
    const missing = named
      .filter(({ name }) => !name.startsWith('`npm run '))
      .filter(({ name }) => !isThere(name) && !isThere(`${name}.test.ts`))
    expect(rows.length).toBeGreaterThan(30)
    expect(missing).toEqual([])
  })
})

test('the list of decisions names each of them once', () => {
  const records = filesIn('docs/decisions/0*.md').map((path) => path.replace('docs/decisions/', ''))
  const listed = [...read('docs/decisions/README.md').matchAll(/\]\((\d{4}-[^)]+)\)/g)].map(([, path = '']) => path)
  expect(listed.toSorted()).toEqual(records.toSorted())
})

test('GLOSSARY.md has at most forty rows, each with a word and what it means', () => {
  const rows = read('GLOSSARY.md')
    .split('\n')
    .filter((line) => line.startsWith('|'))
  const [header, , ...words] = rows.map((row) => row.split('|').map((cell) => cell.trim()))
  expect(header).toEqual(['', 'word', 'meaning', 'also called', ''])
  expect(words.length).toBeLessThanOrEqual(40)
  expect(words.filter(([, word, meaning]) => !word || !meaning)).toEqual([])
})

test('README.md fits on three screens', () => {
  expect(statSync(join(root, 'README.md')).size).toBeLessThanOrEqual(6 * 1024)
})

test('pages link only to files that exist', () => {
  const pages = ['*.md', 'docs/**/*.md', 'src/**/*.md', 'web/*.md'].flatMap(filesIn)
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)|^\[\w+\]: (\S+)$/gm)]
      .map(([, inline, below]) => inline ?? below ?? '')
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  )
  expect(pages.length).toBeGreaterThan(100)
  expect(broken).toEqual([])
})
