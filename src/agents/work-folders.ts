import { closeSync, fsyncSync, lstatSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { AgentDiagnostic } from '../domain/agent.ts'
import { HeddleError } from '../domain/errors.ts'
import { type Now, realPathOf, type Stamp, stampNow } from './agent-files.ts'
import { error } from './finding.ts'

/** The folders that sessions of a home have or had: a run may have written whatever lies in them. */
export interface WorkFolders {
  /** The folder that contains a real path. */
  around(path: string): string | undefined
  diagnostics: AgentDiagnostic[]
}

/** The folders noted in a file, read again when the file has changed; the same object as long as it has not. */
export function workFoldersIn(file: string, clock: Now): () => WorkFolders {
  let before: Stamp = { text: 'nothing read yet', isSettled: false }
  let last: WorkFolders | undefined
  let lastText: string | undefined
  return () => {
    const stamp = stampNow(file, clock)
    if (last && before.isSettled && stamp.text === before.text) return last
    before = stamp
    const read = readNotes(file)
    const text = JSON.stringify(read)
    if (!last || text !== lastText) last = read.problem ? everywhere(read.problem) : within(read.folders)
    lastText = text
    return last
  }
}

/**
 * Notes folders that are not noted yet. Must be called before a run can write there. Lines are only ever added, so that
 * processes that do so at once lose nothing, and each begins on a new line: one that a crash cut off spoils no other.
 */
export function noteWorkFolders(file: string, folders: readonly string[]): void {
  const { folders: noted, isMissing, problem } = readNotes(file)
  const known = new Set(noted)
  const places = folders.flatMap((folder) => [folder, realPathOf(folder) ?? folder])
  const missing = [...new Set(places)].filter((place) => !known.has(place))
  if (missing.length === 0 && !isMissing) return
  const lines = Buffer.from(missing.map((folder) => `\n${JSON.stringify(folder)}\n`).join(''))
  try {
    const descriptor = openSync(file, 'a', 0o600)
    try {
      if (writeSync(descriptor, lines) < lines.length) throw new Error('the disk is full')
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    const remedy = problem?.remedy ?? 'make the home writable for you, and room on its disk'
    throw new HeddleError('folders_unwritable', `Cannot write ${file}: ${why}.`, remedy, { cause: thrown })
  }
}

interface Notes {
  folders: string[]
  isMissing?: true
  problem?: AgentDiagnostic
}

function readNotes(file: string): Notes {
  const wrong = (message: string, remedy: string): AgentDiagnostic => ({
    ...error(`${message}, so every agent file needs trust`, remedy),
    path: file,
  })
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return { folders: [], isMissing: true }
    if (!stats.isFile()) return { folders: [], problem: wrong('it is not a file', `remove ${file}`) }
    const folders = readFileSync(file, 'utf8').split('\n').flatMap(folderOf)
    const isOpen = (stats.mode & 0o022) !== 0
    return { folders, ...(isOpen && { problem: wrong('others can write it', `chmod 600 ${file}`) }) }
  } catch {
    return { folders: [], problem: wrong('it cannot be read', `make it readable for you: chmod 600 ${file}`) }
  }
}

function folderOf(line: string): string[] {
  // Every other line is: a failed attempt to parse it costs more than all the rest.
  if (line === '') return []
  try {
    const folder: unknown = JSON.parse(line)
    return typeof folder === 'string' ? [folder] : []
  } catch {
    return []
  }
}

function within(noted: readonly string[]): WorkFolders {
  // A folder may have been moved behind a link since.
  const folders = new Set(noted.flatMap((folder) => [folder, realPathOf(folder) ?? folder]))
  return {
    around(path) {
      for (let place = path; ; place = dirname(place)) {
        if (folders.has(place)) return place
        if (place === dirname(place)) return undefined
      }
    },
    diagnostics: [],
  }
}

function everywhere(problem: AgentDiagnostic): WorkFolders {
  return { around: () => '/', diagnostics: [problem] }
}
