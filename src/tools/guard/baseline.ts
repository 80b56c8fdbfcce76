import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { groupDigits } from '../../domain/text/group-digits.ts'
import type { OpenFile, PathAddress } from '../../domain/tools/path-handle.ts'
import type { OwnChanges } from '../../domain/tools/tool.ts'
import { fileNameMatcher, namesAnyFile, wordsBelow, wordsOf } from '../exec/command-words.ts'
import { syncHandle } from '../files/handle.ts'
import { shownName } from '../files/shown-name.ts'
import { differences, marksIn, maxSurveyed, readMarks, writeMarks } from '../files/survey.ts'
import { type CommandPlace, namedFiles } from './named-files.ts'

const maxLines = 50

/** A command and its working directory. */
export interface FrozenCommand extends CommandPlace {
  command: string
}

/** State of the files that a command could run: the user approves it together with the command. */
export interface Baseline {
  packed: string
  /** Files that are not compared, in words. */
  uncovered: string[]
}

interface PackedBaseline {
  /** Fingerprints of the whole folder; null if it is too large. */
  marks: string | null
  /** Fingerprints of the files that the command names, anywhere in the folder. */
  named: string
}

/** Wording for files that a scan of the folder cannot see. */
export const filesOutside = 'files outside the folder'

/** Takes fingerprints of a folder and of all files that a command names. Runs in a worker thread. */
export async function takeBaseline({ command, ...place }: FrozenCommand): Promise<Baseline> {
  const surveyed = await marksIn(syncHandle({ ...place.folder, path: '.' }))
  const named = await namedFiles(place, await commandPaths(place, command))
  const marks = surveyed === 'tooMany' ? null : writeMarks(surveyed.marks)
  const kept: PackedBaseline = { marks, named: writeMarks(named.marks) }
  return {
    packed: gzipSync(JSON.stringify(kept)).toString('base64'),
    uncovered: [
      ...(surveyed === 'tooMany' ? [tooMany] : surveyed.passedOver),
      ...(named.isCut ? ['some of the many files that the command names'] : []),
      ...(named.leadsOutside ? [filesOutside] : []),
    ],
  }
}

const tooMany = `all but the files it names: the folder has more than ${groupDigits(maxSurveyed)} entries`

export interface BaselineComparison extends FrozenCommand {
  packed: string
  own: OwnChanges
}

/**
 * Changes since a baseline, one line each. The request's own changes are left out, except in files that the command names
 * or could find: an agent must not get one thing approved and then run another.
 */
export async function changesSince({ packed, own, command, ...place }: BaselineComparison): Promise<string[]> {
  const kept = JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as PackedBaseline
  const words = await commandPaths(place, command)
  const [named, before] = [await namedFiles(place, words), readMarks(kept.named)]
  const changes = differences(before, named.marks)
  if (kept.marks !== null) {
    const surveyed = await marksIn(syncHandle({ ...place.folder, path: '.' }))
    if (surveyed === 'tooMany') return [`the folder, which has more than ${groupDigits(maxSurveyed)} entries now`]
    for (const [path, change] of differences(readMarks(kept.marks), surveyed.marks)) changes.set(path, change)
  }
  const isNamed = namesAnyFile(command) ? () => true : fileNameMatcher(words)
  const lines: string[] = []
  for (const [path, { was, is }] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const counts = before.has(path) || named.marks.has(path) || isNamed(path)
    if (counts || !(await isOwn(place.folder, path, own[path]))) lines.push(describeChange(path, was, is))
  }
  return lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), `${lines.length - maxLines} more files`]
}

/** Absolute paths are made relative to the folder, under either of its names. */
async function commandPaths({ folder }: CommandPlace, command: string): Promise<string[]> {
  const status = await syncHandle({ ...folder, path: '.' }).stat()
  return wordsBelow([folder.folder, ...('path' in status ? [status.path] : [])], wordsOf(command))
}

/** Whether a file's content is what this request left. */
async function isOwn(folder: PathAddress, path: string, hashes: string[] | null | undefined): Promise<boolean> {
  if (hashes === undefined) return false
  if (hashes === null) return true
  const hash = await syncHandle({ ...folder, path })
    .openFile(hashOpenFile)
    .catch(() => undefined)
  return hash !== undefined && hashes.includes(hash)
}

async function hashOpenFile(file: OpenFile): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(65_536)
  for (let at = 0, read = -1; read !== 0; at += read) {
    read = await file.read(buffer, at)
    hash.update(buffer.subarray(0, read))
  }
  return hash.digest('hex')
}

function describeChange(path: string, was: string | undefined, is: string | undefined): string {
  const plain = shownName(path)
  const name = /^[\w./@+-]+$/.test(plain) ? plain : JSON.stringify(plain)
  if (is === undefined) return `${name} is gone`
  const bytes = `${sizeIn(is)} bytes`
  if (was === undefined) return `${name} is new, ${bytes}`
  return sizeIn(was) === sizeIn(is) ? `${name}, still ${bytes}` : `${name}, ${sizeIn(was)} → ${bytes}`
}

function sizeIn(mark: string): string {
  return mark.split(' ')[1] ?? '?'
}
