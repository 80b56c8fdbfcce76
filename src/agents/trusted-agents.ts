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
import { type CurrentTime, stampOfFile } from './agent-files.ts'
import { errorFinding } from './finding.ts'

/** Path → hash of the content that the user trusts. */
export interface Trust {
  hashes: ReadonlyMap<string, string>
  diagnostics: AgentDiagnostic[]
}

/** Reads the user's trust decisions; returns the same object until the file changes. */
export function trustReader(file: string, clock: CurrentTime): () => Trust {
  let stamp = ''
  let isSettled = false
  let trust: Trust = { hashes: new Map(), diagnostics: [] }
  return () => {
    const now = stampOfFile(file, clock)
    if (now.text === stamp && isSettled) return trust
    ;({ text: stamp, isSettled } = now)
    const next = readTrust(file)
    const isSame = JSON.stringify([...next.hashes]) === JSON.stringify([...trust.hashes])
    if (!isSame || next.diagnostics.length > 0 || trust.diagnostics.length > 0) trust = next
    return trust
  }
}

/** Stores that the user trusts this content at this path; replaces an earlier decision. */
export function storeTrust(file: string, path: string, hash: string): void {
  const { hashes, diagnostics } = readTrust(file)
  const [problem] = diagnostics
  if (problem) throw new HeddleError('trust_unreadable', `${file}: ${problem.message}`, problem.remedy ?? '')
  const agents = Object.fromEntries([...hashes, [path, hash] as const].sort(([a], [b]) => (a < b ? -1 : 1)))
  const draft = `${file}.new`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    // A draft of a killed process never counted.
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
    throw new HeddleError('trust_unwritable', `cannot write ${file}`, 'make the home directory writable', {
      cause: thrown,
    })
  }
}

function readTrust(file: string): Trust {
  const noTrust = (message: string, remedy: string): Trust => ({
    hashes: new Map(),
    diagnostics: [{ ...errorFinding(`${message}, so no agent of a folder is trusted`, remedy), path: file }],
  })
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return { hashes: new Map(), diagnostics: [] }
    if (!stats.isFile()) return noTrust('it is not a file', `remove ${file}`)
    if ((stats.mode & 0o022) !== 0) return noTrust('other users can write it', `check it, then: chmod 600 ${file}`)
    const data: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const agents = typeof data === 'object' && data !== null && 'agents' in data ? data.agents : undefined
    if (typeof agents !== 'object' || agents === null)
      return noTrust('it is not in the format that heddle writes', `remove ${file}`)
    const pairs = Object.entries(agents).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
    return { hashes: new Map(pairs), diagnostics: [] }
  } catch {
    return noTrust('it cannot be read', `fix or remove ${file}`)
  }
}
