import { closeSync, fsyncSync, lstatSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { AgentDiagnostic } from '../domain/agent.ts'
import { HeddleError } from '../domain/errors.ts'
import { type CurrentTime, realPathOf, type Stamp, stampOfFile } from './agent-files.ts'
import { errorFinding } from './finding.ts'

/** Folders that sessions of a home have or had: runs may have written files in them. */
export interface WorkFolders {
  /** The work folder that contains a real path. */
  around(path: string): string | undefined
  diagnostics: AgentDiagnostic[]
}

/** Reads the recorded folders; returns the same object until the file changes. */
export function workFoldersIn(file: string, clock: CurrentTime): () => WorkFolders {
  let before: Stamp = { text: 'nothing read yet', isSettled: false }
  let last: WorkFolders | undefined
  let lastText: string | undefined
  return () => {
    const stamp = stampOfFile(file, clock)
    if (last && before.isSettled && stamp.text === before.text) return last
    before = stamp
    const read = readNotes(file)
    const text = JSON.stringify(read)
    if (!last || text !== lastText) last = read.problem ? treatAllAsWorkFolders(read.problem) : within(read.folders)
    lastText = text
    return last
  }
}

/**
 * Records new folders. Must be called before a run can write there. Lines are only appended, so that concurrent processes
 * lose nothing, and each starts on a new line, so that one cut off by a crash spoils no other.
 */
export function recordWorkFolders(file: string, folders: readonly string[]): void {
  const { folders: recorded, isMissing, problem } = readNotes(file)
  const known = new Set(recorded)
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
    const remedy = problem?.remedy ?? 'make the home writable, and free some disk space'
    throw new HeddleError('folders_unwritable', `cannot write ${file}: ${why}`, remedy, { cause: thrown })
  }
}

/** Records folders like `recordWorkFolders`; reads the file only when it has changed. */
export function workFolderRecorder(file: string, clock: CurrentTime): (folder: string) => void {
  let before: Stamp = { text: 'nothing read yet', isSettled: false }
  let known: ReadonlySet<string> = new Set()
  return (folder) => {
    const stamp = stampOfFile(file, clock)
    const isKnown = [folder, realPathOf(folder) ?? folder].every((place) => known.has(place))
    if (isKnown && before.isSettled && stamp.text === before.text) return
    recordWorkFolders(file, [folder])
    before = stampOfFile(file, clock)
    known = new Set(readNotes(file).folders)
  }
}

interface Notes {
  folders: string[]
  isMissing?: true
  problem?: AgentDiagnostic
}

function readNotes(file: string): Notes {
  const wrong = (message: string, remedy: string): AgentDiagnostic => ({
    ...errorFinding(`${message}, so every agent file needs trust`, remedy),
    path: file,
  })
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return { folders: [], isMissing: true }
    if (!stats.isFile()) return { folders: [], problem: wrong('it is not a file', `remove ${file}`) }
    const folders = readFileSync(file, 'utf8').split('\n').flatMap(folderOf)
    const isOpen = (stats.mode & 0o022) !== 0
    return { folders, ...(isOpen && { problem: wrong('other users can write it', `chmod 600 ${file}`) }) }
  } catch {
    return { folders: [], problem: wrong('it cannot be read', `make it readable for you: chmod 600 ${file}`) }
  }
}

function folderOf(line: string): string[] {
  // Every other line is empty, and a failed parse costs more than all the rest.
  if (line === '') return []
  try {
    const folder: unknown = JSON.parse(line)
    return typeof folder === 'string' ? [folder] : []
  } catch {
    return []
  }
}

function within(recorded: readonly string[]): WorkFolders {
  // A folder may have been replaced by a link since.
  const folders = new Set(recorded.flatMap((folder) => [folder, realPathOf(folder) ?? folder]))
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

function treatAllAsWorkFolders(problem: AgentDiagnostic): WorkFolders {
  return { around: () => '/', diagnostics: [problem] }
}
