import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { AgentDiagnostic } from '../domain/agent.ts'
import { HeddleError } from '../domain/errors.ts'
import { type Now, stampNow } from './agent-files.ts'
import { error } from './finding.ts'

/** Path → hash of the content that the owner has looked at. */
export interface Trust {
  hashes: ReadonlyMap<string, string>
  diagnostics: AgentDiagnostic[]
}

/** What the owner trusts, read again when the file has changed; the same object as long as it has not. */
export function trustIn(file: string, clock: Now): () => Trust {
  let stamp = ''
  let isSettled = false
  let trust: Trust = { hashes: new Map(), diagnostics: [] }
  return () => {
    const now = stampNow(file, clock)
    if (now.text === stamp && isSettled) return trust
    ;({ text: stamp, isSettled } = now)
    const next = readTrust(file)
    const isSame = JSON.stringify([...next.hashes]) === JSON.stringify([...trust.hashes])
    if (!isSame || next.diagnostics.length > 0 || trust.diagnostics.length > 0) trust = next
    return trust
  }
}

/** Remembers that the owner trusts this content at this path, over whatever was trusted there. */
export function keepTrust(file: string, path: string, hash: string): void {
  const { hashes, diagnostics } = readTrust(file)
  const [problem] = diagnostics
  if (problem) throw new HeddleError('trust_unreadable', `${file}: ${problem.message}.`, problem.remedy ?? '')
  const agents = Object.fromEntries([...hashes, [path, hash] as const].sort(([a], [b]) => (a < b ? -1 : 1)))
  const draft = `${file}.new`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    // What a killed process left behind was never what counts.
    rmSync(draft, { force: true })
    const descriptor = openSync(draft, 'wx', 0o600)
    try {
      writeSync(descriptor, `${JSON.stringify({ agents }, null, 2)}\n`)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(draft, file)
  } catch (thrown) {
    throw new HeddleError('trust_unwritable', `Cannot write ${file}.`, 'make the home writable for you', {
      cause: thrown,
    })
  }
}

function readTrust(file: string): Trust {
  const nobody = (message: string, remedy: string): Trust => ({
    hashes: new Map(),
    diagnostics: [{ ...error(`${message}, so no agent of a folder is trusted`, remedy), path: file }],
  })
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return { hashes: new Map(), diagnostics: [] }
    if (!stats.isFile()) return nobody('it is not a file', `remove ${file}`)
    if ((stats.mode & 0o022) !== 0) return nobody('others can write it', `look through it, then chmod 600 ${file}`)
    const said: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const agents = typeof said === 'object' && said !== null && 'agents' in said ? said.agents : undefined
    if (typeof agents !== 'object' || agents === null) return nobody('it is not what heddle writes', `remove ${file}`)
    const pairs = Object.entries(agents).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
    return { hashes: new Map(pairs), diagnostics: [] }
  } catch {
    return nobody('it cannot be read', `mend or remove ${file}`)
  }
}
