import { expect, test } from 'vitest'
import { claimedFiles } from '../../src/engine/files/claimed-files.ts'

test.each([
  ['Done.\n\nFiles:\n- a.md\n- `my notes.md`: the notes\n- src/Makefile', ['a.md', 'my notes.md', 'src/Makefile']],
  ['Done.\n\n**Files:** a.md, b c.md', ['a.md', 'b c.md']],
  ['Files: none', []],
  ['Done.\nFiles: I looked at three of them and changed nothing.', []],
  ['Files:\n- nothing was written\n- see https://example.org/a.md', []],
])('%j claims %j', (text, expected) => {
  expect(claimedFiles(text)).toEqual(expected)
})
