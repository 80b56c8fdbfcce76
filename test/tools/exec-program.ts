// Runs commands in a folder, one after another, and tells each answer as a line; before that what is in the way.
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { systemClock } from '../../src/system.ts'
import { makeCall, prepareCall } from '../../src/tools/call.ts'
import { execTool } from '../../src/tools/exec/sandbox/exec-tool.ts'

const [folder = '', ...commands] = process.argv.slice(2)
const config = { network: false, timeoutSeconds: 5, maxTimeoutSeconds: 60, memoryMB: 512, processes: 40 }
const sandbox = process.env['SANDBOX'] === 'off' ? 'off' : 'on'
const found = await execTool({ sandbox, ...config }, { clock: systemClock, env: process.env })
if ('obstacle' in found) process.stdout.write(`${JSON.stringify(found.obstacle)}\n`)
const known = new Map('tool' in found ? [['exec', found.tool]] : [])
const signal = new AbortController().signal
for (const command of commands) {
  const ready = prepareCall({ id: 'call', name: 'exec', input: { command } }, known, ['exec'])
  const context = { runId: 'run', callId: 'call', signal, folder, protect: nothingProtected }
  const { output } = 'refused' in ready ? ready.refused : await makeCall(ready, context)
  process.stdout.write(`${JSON.stringify(output)}\n`)
}
