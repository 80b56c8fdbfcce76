import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answerFrom } from '../src/cli/approvals/question-pager.ts'
import { actionOfLine } from '../src/commands/dispatch.ts'
import { readableText } from '../src/tools/fetch/readable.ts'
import { matchesGlob, readGlob } from '../src/tools/files/glob.ts'
import { readTree, type SourceFile } from './architecture/tree.ts'

/** Tables whose keys are never a name from outside. */
const exceptions = new Map([
  ['src/config/yaml.ts section', 'keys that every object has are refused before'],
  ['src/engine/views/runs.ts doing', 'the state of a run'],
  ['src/store/backup/backup.ts counts', 'the names of our own tables'],
  ['src/store/sqlite/connection.ts row', 'the names of our own columns'],
  ['src/tools/exec/sandbox/view.ts links', 'folders of the system'],
  ['src/tools/operands.ts hashes', 'words of a command, kept for comparing only'],
])

/**
 * Places where a plain object is looked up by something that is not written out, without asking `Object.hasOwn` first:
 * `__proto__` and `constructor` are found in every plain object.
 */
function carelessLookups({ path, text }: SourceFile): string[] {
  const declared = [...text.matchAll(/\b(?:const|let)\s+(\w+):\s*(?:Readonly<)?Record<string,/g)].map(
    ([, name]) => name,
  )
  const cast = [...text.matchAll(/as keyof typeof (\w+)/g)].map(([, name]) => name)
  const names = [...new Set([...declared, ...cast, 'config.models'])].filter((name) => name !== undefined)
  return names
    .filter((name) => new RegExp(`(?<![\\w.])${name.replace('.', '\\.')}\\[(?!['"\`\\d\\]])`).test(text))
    .filter((name) => !text.includes(`Object.hasOwn(${name},`))
    .map((name) => `${path} ${name}`)
}

test('a plain object is never looked up by a name from outside without asking whether the name is its own', () => {
  const source = readTree(join(import.meta.dirname, '..')).filter(({ path }) => /^src\/(?!testing).*\.ts$/.test(path))
  const found = source.flatMap(carelessLookups).filter((each) => !exceptions.has(each))
  expect(found).toEqual([])
})

test('the rule sees a table that is looked up carelessly, and not one that is a Map or is asked first', () => {
  const file = (text: string) => ({ path: 'src/x.ts', text }) as SourceFile
  expect(carelessLookups(file('const a: Record<string, string> = {}\nreturn a[name]'))).toEqual(['src/x.ts a'])
  expect(carelessLookups(file('const a = { b: 1 } as const\nreturn a[name as keyof typeof a]'))).toHaveLength(1)
  expect(carelessLookups(file('return config.models[name]'))).toHaveLength(1)
  expect(carelessLookups(file('const a: Record<string, string> = {}\nObject.hasOwn(a, name) && a[name]'))).toEqual([])
  expect(carelessLookups(file('const a = new Map()\na.get(name)'))).toEqual([])
})

const inherited = ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']

test.each(inherited)('%s is no answer, no command, no tag that ends another, and no class of characters', (name) => {
  expect(answerFrom(name)).toBe(undefined)
  if (/^[a-z]+$/i.test(name)) expect(() => actionOfLine(`/${name}`)).toThrow('there is no')
  expect(readableText(`<${name}>one<p>two`, 'http://127.0.0.1/').text).toContain('two')
  const glob = readGlob(`[[:${name}:]]`)
  expect(glob === undefined || matchesGlob(glob, ['x'])).toBeTypeOf('boolean')
})
