import { basename } from 'node:path'
import type { PathAddress } from '../../domain/tools/path-handle.ts'
import { fileFingerprint } from '../files/fingerprint.ts'
import { syncRoot } from '../files/handle.ts'
import type { Root } from '../files/inside.ts'
import { plainName, writeMarks } from '../files/survey.ts'
import { isGitDirectory, isReadByGit } from './git-places.ts'
import { isAmong } from './protected-places.ts'

// Max entries in addition to those of a survey.
const maxHiddenEntries = 300_000
// Elsewhere, a directory made to look like git's could hide its content.
const inGit = /(^|\/)\.git(\/|$)/

const objectDirectory = /\/objects\/[^/]+$/
// Rewritten by commands that change nothing, such as git status.
const gitIndex = 'index'

/** Paths that a survey passes over, relative to the folder. */
export interface HiddenPaths {
  folder: PathAddress
  paths: string[]
}

/** Fingerprints of files that a survey passes over, as one text, and the kinds that could not be read. */
export interface HiddenMarks {
  marks: string
  /** The same of git's other files, and of directories whose names are more than a plain word. */
  others: string
  passedOver: string[]
}

/**
 * Takes fingerprints of ignored files, packages, and files that git runs or reads as configuration. Reads no content and
 * follows no link. Uses paths, which is much faster than descriptors: a directory swapped for a link meanwhile only shows
 * up as a change. Runs in a worker thread.
 */
export async function hiddenMarks({ folder, paths }: HiddenPaths): Promise<HiddenMarks | 'tooMany'> {
  const root = await syncRoot(folder)
  const left = maxHiddenEntries
  const walk: Walk = { root, marks: new Map(), others: new Map(), passedOver: new Set(), left, queue: [] }
  for (const path of paths) {
    const isDirectory = (await root.disk.find(`${root.path}/${path}`))?.isDirectory() ?? false
    await takeMark(walk, path, isDirectory)
  }
  // The loop appends to this list.
  for (const path of walk.queue) {
    await takeDirectory(walk, path)
    if (walk.left < 0) return 'tooMany'
  }
  return { marks: writeMarks(walk.marks), others: writeMarks(walk.others), passedOver: [...walk.passedOver] }
}

interface Walk {
  root: Root
  marks: Map<string, string>
  others: Map<string, string>
  passedOver: Set<string>
  /** Number of further entries allowed. */
  left: number
  /** Directories still to be read. */
  queue: string[]
}

async function takeDirectory(walk: Walk, path: string): Promise<void> {
  try {
    const entries = await walk.root.disk.list(`${walk.root.path}/${path}`)
    walk.left -= entries.length
    const names = new Set(entries.map(({ name }) => name))
    const isGit = inGit.test(path) && isGitDirectory(names)
    for (const entry of entries) {
      // Decoding replaced some bytes: the file cannot be opened by this name, or another file has it.
      if (entry.name.includes('\ufffd')) walk.passedOver.add('files whose names are not UTF-8')
      // The rest of a git directory changes with every git command.
      if (!isGit || isReadByGit(entry.name)) await takeMark(walk, `${path}/${entry.name}`, entry.isDirectory())
      else if (entry.name !== gitIndex) await takeGitMark(walk, `${path}/${entry.name}`, entry.isDirectory())
    }
  } catch (error) {
    if (!isGone(error)) walk.passedOver.add('directories that cannot be read')
  }
}

/** Of git's objects only their directories count, which change with every new object: there may be very many. */
async function takeGitMark(walk: Walk, path: string, isDirectory: boolean): Promise<void> {
  const whole = `${walk.root.path}/${path}`
  const isOfObjects = objectDirectory.test(path)
  if (!isDirectory || isOfObjects) {
    const stats = await walk.root.disk.find(whole)
    if (stats) walk.others.set(path, fileFingerprint(stats))
    return
  }
  const entries = await walk.root.disk.list(whole)
  walk.left -= entries.length
  for (const entry of entries) await takeGitMark(walk, `${path}/${entry.name}`, entry.isDirectory())
}

async function takeMark({ root, marks, others, queue }: Walk, path: string, isDirectory: boolean): Promise<void> {
  const whole = `${root.path}/${path}`
  // Paths hidden from agents are not part of the folder.
  if (isAmong(root.places.hidden, whole)) return
  if (isDirectory) {
    if (!plainName.test(basename(path))) others.set(path, 'directory')
    queue.push(path)
    return
  }
  const stats = await root.disk.find(whole)
  if (stats) marks.set(path, fileFingerprint(stats))
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(String((error as NodeJS.ErrnoException).code))
}
