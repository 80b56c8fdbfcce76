import { expect, test } from 'vitest'
import { chainOf } from '../../src/engine/why/version-chain.ts'
import type { FileVersion } from '../../src/store/rows/files/file-versions.ts'

const version = (runId: string, at: number, order: [number, number]): FileVersion => ({
  ...{ id: 1, runId, callId: 'call', folder: '/here', path: 'a.py', before: null, after: 'hash' },
  ...{ mode: null, at, undoneAt: null, lineMap: null, lineHashes: null, order },
})

// The tool's change is recorded at 100, and the command begins at 150, before there is a file.
const byTool = version('tool', 100, [1, 0])
const byCommand: FileVersion = { ...version('command', 300, [1, 1]), command: { since: 150 } }

test.each([
  { ended: 180, author: 'tool', why: 'the call was still to make it' },
  { ended: 120, author: 'command', why: 'the file was removed and written again' },
])('a change that a survey saw come about is of the $author if $why', async ({ ended, author }) => {
  const calls = { isMade: async () => true, endOf: async () => ended }
  const node = await chainOf([byTool, byCommand], calls, { hash: 'hash', at: 400 })
  expect(node?.via).toMatchObject({ kind: 'version', version: { runId: author } })
})
