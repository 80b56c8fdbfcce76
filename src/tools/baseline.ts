import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { OpenFile, PathAddress } from '../domain/path-handle.ts'
import type { OwnChanges } from '../domain/tool.ts'
import { namesAnyFile, namingOf, wordsBelow, wordsOf } from './command-words.ts'
import { directHandle } from './handle.ts'
import { type CommandPlace, namedFiles } from './named-files.ts'
import { shownName } from './shown-name.ts'
import { differences, marksIn, mostSurveyed, readMarks, writeMarks } from './survey.ts'

const mostTold = 50

/** A command and where it would run. */
export interface FrozenCommand extends CommandPlace {
  command: string
}

/** The files that a command could run, as they are: what a person approves besides its text. */
export interface Baseline {
  packed: string
  /** What is not compared, in words. */
  uncovered: string[]
}

interface Kept {
  /** Of the whole folder; null where it is too large. */
  marks: string | null
  /** Of the files that the command names, wherever in the folder they are. */
  named: string
}

/** How files that no look into the folder can find are told. */
export const filesOutside = 'files outside the folder'

/** Takes the marks of a folder and of all that a command names. Meant for a thread of its own. */
export async function takeBaseline({ command, ...place }: FrozenCommand): Promise<Baseline> {
  const surveyed = await marksIn(directHandle({ ...place.folder, path: '.' }))
  const named = await namedFiles(place, await wordsIn(place, command))
  const marks = surveyed === 'tooMany' ? null : writeMarks(surveyed.marks)
  const kept: Kept = { marks, named: writeMarks(named.marks) }
  return {
    packed: gzipSync(JSON.stringify(kept)).toString('base64'),
    uncovered: [
      ...(surveyed === 'tooMany' ? [tooMany] : surveyed.passedOver),
      ...(named.isCut ? ['some of the many files that the command names'] : []),
      ...(named.leadsOutside ? [filesOutside] : []),
    ],
  }
}

const tooMany = `all but the files it names: the folder has more than ${mostSurveyed.toLocaleString('en')} entries`

export interface BaselineComparison extends FrozenCommand {
  packed: string
  own: OwnChanges
}

/**
 * What has changed since a baseline was taken, one line each. What the request changed itself is left out, except in
 * files that the command names, or could find: an agent must not have something approved and then run something else.
 */
export async function changesSince({ packed, own, command, ...place }: BaselineComparison): Promise<string[]> {
  const kept = JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as Kept
  const words = await wordsIn(place, command)
  const [named, before] = [await namedFiles(place, words), readMarks(kept.named)]
  const changes = differences(before, named.marks)
  if (kept.marks !== null) {
    const surveyed = await marksIn(directHandle({ ...place.folder, path: '.' }))
    if (surveyed === 'tooMany')
      return [`the folder, which has more than ${mostSurveyed.toLocaleString('en')} entries now`]
    for (const [path, change] of differences(readMarks(kept.marks), surveyed.marks)) changes.set(path, change)
  }
  const isNamed = namesAnyFile(command) ? () => true : namingOf(words)
  const lines: string[] = []
  for (const [path, { was, is }] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const counts = before.has(path) || named.marks.has(path) || isNamed(path)
    if (counts || !(await isOwn(place.folder, path, own[path]))) lines.push(told(path, was, is))
  }
  return lines.length <= mostTold ? lines : [...lines.slice(0, mostTold), `${lines.length - mostTold} more files`]
}

/** A whole path is told from the folder on, by whichever name the folder has. */
async function wordsIn({ folder }: CommandPlace, command: string): Promise<string[]> {
  const sight = await directHandle({ ...folder, path: '.' }).look()
  return wordsBelow([folder.folder, ...('path' in sight ? [sight.path] : [])], wordsOf(command))
}

/** Whether a file is as this request left it. */
async function isOwn(folder: PathAddress, path: string, hashes: string[] | null | undefined): Promise<boolean> {
  if (hashes === undefined) return false
  if (hashes === null) return true
  const hash = await directHandle({ ...folder, path })
    .openFile(hashOf)
    .catch(() => undefined)
  return hash !== undefined && hashes.includes(hash)
}

async function hashOf(file: OpenFile): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(65_536)
  for (let at = 0, read = -1; read !== 0; at += read) {
    read = await file.read(buffer, at)
    hash.update(buffer.subarray(0, read))
  }
  return hash.digest('hex')
}

function told(path: string, was: string | undefined, is: string | undefined): string {
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
