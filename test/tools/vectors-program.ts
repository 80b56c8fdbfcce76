import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { systemClock } from '../../src/system.ts'
import { makeCall, prepareCall } from '../../src/tools/call.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'
import { changeFreely } from './folder.ts'
import { inputFor, vectors } from './vectors.ts'

// Calls every file tool with every vector, for a test that watches what the system is asked for, and prints how often.
const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-vectors-')))
const folder = join(place, 'folder-inside')
mkdirSync(join(folder, 'sub'), { recursive: true })
writeFileSync(join(folder, 'a.txt'), 'inside\n')
// Nothing is there: whoever looks is seen, whatever they find.
const outside = join(place, 'folder-beside')
symlinkSync(join(outside, 'secret.txt'), join(folder, 'link-file'))
symlinkSync(outside, join(folder, 'link-dir'))
symlinkSync('../folder-beside', join(folder, 'link-relative'))

const tools = fileTools(systemClock)
const known = new Map(tools.map((tool) => [tool.name, tool]))
let asked = 0
for (const path of ['a.txt', ...vectors({ path: folder, outside })])
  for (const { name } of tools) {
    const input = inputFor(name, path)
    const ready = prepareCall({ id: 'call', name, input }, known, [...known.keys()])
    const signal = new AbortController().signal
    const context = { runId: 'run', callId: 'call', signal, folder, protect: nothingProtected, change: changeFreely }
    if ('tool' in ready) await makeCall(ready, context)
    asked++
  }
rmSync(place, { recursive: true })
console.log(asked)
process.exit()
