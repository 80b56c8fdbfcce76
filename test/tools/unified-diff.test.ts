import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { callFor } from '../../src/tools/call.ts'
import { hashOf } from '../../src/tools/files/content-hash.ts'
import { editFile } from '../../src/tools/files/edit-file.ts'
import { unifiedDiff } from '../../src/tools/files/unified-diff.ts'
import { writeFile } from '../../src/tools/files/write-file.ts'
import { isLong } from '../setup/long.ts'
import { newFolder, type TestFolder } from './folder.ts'

let folder: TestFolder
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => folder.remove())

describe('a diff', () => {
  test('shows three lines around each difference, with the line numbers of both texts', () => {
    const lines = Array.from({ length: 30 }, (_, n) => `${n + 1}\n`)
    const after = lines.with(4, 'five\n').with(9, 'ten\n').toSpliced(24, 1)
    expect(unifiedDiff('n.txt', lines.join(''), after.join(''))).toBe(
      [
        ...['--- a/n.txt', '+++ b/n.txt', '@@ -2,12 +2,12 @@'],
        ...[' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8', ' 9', '-10', '+ten', ' 11', ' 12', ' 13'],
        ...['@@ -22,7 +22,6 @@', ' 22', ' 23', ' 24', '-25', ' 26', ' 27', ' 28'],
      ].join('\n'),
    )
    expect(unifiedDiff('n', undefined, 'a\nb')).toBe(
      '--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file',
    )
    expect(unifiedDiff('n', 'a\n', '')).toBe('--- a/n\n+++ b/n\n@@ -1,1 +0,0 @@\n-a')
  })

  test('of any two texts is one that makes the second of the first', () => {
    const next = (() => {
      let seed = 7
      return (below: number) => {
        seed = (seed * 1103515245 + 12345) % 2147483648
        return seed % below
      }
    })()
    for (let round = 0; round < (isLong ? 150 : 60); round++) {
      const old = Array.from({ length: next(40) + 1 }, () => `${'abcd'[next(4)]}\n`)
      const fresh = old.flatMap((line) => [[line], [line], [line], [], [line, 'x\n'], ['y\n']][next(6)] ?? [])
      const [before, after] = [old.join(''), fresh.join('') || 'z\n']
      if (before === after) continue
      folder.write({ f: before })
      execFileSync('git', ['apply', '--unidiff-zero', '-'], {
        cwd: folder.path,
        input: `${unifiedDiff('f', before, after)}\n`,
      })
      expect(readFileSync(join(folder.path, 'f'), 'utf8')).toBe(after)
    }
  })

  test('hides nothing: what cannot be seen, or turns text around, is written as its number', () => {
    const sly = 'a\u202eb\u200bc\u00adx\u00a0y\u2028z\u0007\u001b[2J\ufe0f\u{e0041}\u3164\r'
    const shown = unifiedDiff('n\u202e', 'a\n', `${sly}\n\ttab and space\n`)
    expect(shown).toContain(
      '+a\\u{202e}b\\u{200b}c\\u{ad}x\\u{a0}y\\u{2028}z\\u{7}\\u{1b}[2J\\u{fe0f}\\u{e0041}\\u{3164}\\u{d}\n+\ttab and space',
    )
    expect(shown).toContain('+++ b/n\\u{202e}')
  })

  test('is whole, and ends in time whatever the texts are', () => {
    const many = Array.from({ length: 50_000 }, (_, n) => `old ${n}\n`).join('')
    const lines = unifiedDiff('n', many, many.replaceAll('old', 'new')).split('\n')
    expect([lines.length, lines.at(-1)]).toEqual([100_003, '+new 49999'])
    const long = unifiedDiff('n', 'a', 'x'.repeat(5_000_000))
    expect(long).toContain(`+${'x'.repeat(5_000_000)}\n`)
  })
})

describe('the preview of a call', () => {
  const previewOf = (tool: Tool, input: Record<string, unknown>) => {
    const parsed = tool.parse(input)
    if (!parsed.ok || tool.effect === 'transactional' || !tool.preview) throw new Error('it has none')
    const signal = new AbortController().signal
    const context = { runId: 'run', callId: 'call', signal, folder: folder.path, protect: nothingProtected }
    return tool.preview(parsed.value, callFor({ tool, value: parsed.value }, context))
  }

  test('shows what would change, is bound to what is there, and changes nothing', async () => {
    folder.write({ 'a.txt': 'one\ntwo\n' })
    const change = '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2'
    const frozen = { path: 'a.txt', before: hashOf(Buffer.from('one\ntwo\n')) }
    const edit = { path: './a.txt', old_text: 'two', new_text: '2' }
    const facts = [
      { name: 'where', value: join(folder.path, 'a.txt') },
      { name: 'does', value: 'changes this file' },
    ]
    expect(await previewOf(editFile as Tool, edit)).toEqual({ facts, change, frozen })
    expect(await previewOf(writeFile as Tool, { path: 'a.txt', content: 'one\n2\n' })).toEqual({
      facts,
      change,
      frozen,
    })
    expect(await previewOf(writeFile as Tool, { path: 'x/new', content: '1\n' })).toEqual({
      facts: [
        { name: 'where', value: join(folder.path, 'x/new') },
        { name: 'does', value: 'creates this file' },
      ],
      change: '--- /dev/null\n+++ b/x/new\n@@ -0,0 +1,1 @@\n+1',
      frozen: { path: 'x/new', before: null },
    })
    expect(execFileSync('ls', { cwd: folder.path, encoding: 'utf8' })).toBe('a.txt\n')
  })

  test('of a binary file tells its size, and is refused where the call would be', async () => {
    folder.write({ picture: Buffer.from('89504e470d0a1a0a', 'hex') })
    const { change } = await previewOf(writeFile as Tool, { path: 'picture', content: 'text\n' })
    expect(change).toContain('-[8 binary bytes]\n+text')
    const sly = { path: 'picture', content: '\ufeffa\0b\n' }
    expect((await previewOf(writeFile as Tool, sly)).change).toContain('+\\u{feff}a\\u{0}b')
    await expect(previewOf(writeFile as Tool, { path: '.git/config', content: 'x' })).rejects.toThrow('not written by')
    const edit = { path: 'picture', old_text: 'a', new_text: 'b' }
    await expect(previewOf(editFile as Tool, edit)).rejects.toThrow('is binary (PNG)')
    await expect(previewOf(writeFile as Tool, { path: '../x', content: 'x' })).rejects.toThrow('leads out')
  })
})
