import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { systemClock } from '../../src/system.ts'
import { makeCall, prepareCall } from '../../src/tools/call.ts'
import { fileTools } from '../../src/tools/files/file-tools.ts'
import { changeFreely } from './folder.ts'

// Writes one file over and over, each time with other content of the same length, until it is killed.
const [folder = ''] = process.argv.slice(2)
const known = new Map(fileTools(systemClock).map((tool) => [tool.name, tool]))
for (let round = 0; ; round++) {
  const input = { path: 'sub/file', content: String(round % 10).repeat(300_000) }
  const ready = prepareCall({ id: 'call', name: 'write_file', input }, known, ['write_file'])
  if (!('tool' in ready)) throw new Error('it was refused')
  const signal = new AbortController().signal
  await makeCall(ready, {
    runId: 'run',
    callId: 'call',
    signal,
    folder,
    protect: nothingProtected,
    change: changeFreely,
  })
  if (round === 3) process.stdout.write('writing\n')
}
