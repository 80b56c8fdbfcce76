import type { PathAddress } from '../domain/path-handle.ts'
import { isGitDirectory, isReadByGit } from './git-places.ts'
import { directRoot, markOf } from './handle.ts'
import type { Root } from './inside.ts'
import { isAmong } from './protected-places.ts'
import { writeMarks } from './survey.ts'

// Entries that are looked at besides those of a survey.
const maxHiddenEntries = 300_000
// Elsewhere a directory that only looks like one of git could hide what is in it.
const inGit = /(^|\/)\.git(\/|$)/

/** What a survey passes over: paths from the folder on. */
export interface HiddenPaths {
  folder: PathAddress
  paths: string[]
}

/** Marks of what a survey passes over, as one text, and what could not be looked at, in words. */
export interface HiddenMarks {
  marks: string
  passedOver: string[]
}

/**
 * Takes the marks of files that ignore files hide, of packages, and of what git runs or obeys. Reads no content and
 * follows no link. By paths alone, which is much faster than by descriptors: whoever swaps a directory for a link
 * meanwhile only makes a difference that is told. Meant for a thread of its own.
 */
export async function hiddenMarks({ folder, paths }: HiddenPaths): Promise<HiddenMarks | 'tooMany'> {
  const root = await directRoot(folder)
  const walk: Walk = { root, marks: new Map(), passedOver: new Set(), left: maxHiddenEntries, queue: [] }
  for (const path of paths) {
    const isDirectory = (await root.disk.find(`${root.path}/${path}`))?.isDirectory() ?? false
    await takeMark(walk, path, isDirectory)
  }
  // Grows while it is gone through.
  for (const path of walk.queue) {
    await takeDirectory(walk, path)
    if (walk.left < 0) return 'tooMany'
  }
  return { marks: writeMarks(walk.marks), passedOver: [...walk.passedOver] }
}

interface Walk {
  root: Root
  marks: Map<string, string>
  passedOver: Set<string>
  /** How many more entries may come. */
  left: number
  /** Directories that are still to be looked into. */
  queue: string[]
}

async function takeDirectory(walk: Walk, path: string): Promise<void> {
  try {
    const entries = await walk.root.disk.list(`${walk.root.path}/${path}`)
    walk.left -= entries.length
    const names = new Set(entries.map(({ name }) => name))
    const isGit = inGit.test(path) && isGitDirectory(names)
    for (const entry of entries) {
      // Decoding has replaced some of its bytes: the file cannot be opened by this name, or another one has it too.
      if (entry.name.includes('\ufffd')) walk.passedOver.add('files whose names are not UTF-8')
      // The rest of a git directory changes with every command of git.
      if (!isGit || isReadByGit(entry.name)) await takeMark(walk, `${path}/${entry.name}`, entry.isDirectory())
    }
  } catch (error) {
    if (!isGone(error)) walk.passedOver.add('directories that cannot be read')
  }
}

async function takeMark({ root, marks, queue }: Walk, path: string, isDirectory: boolean): Promise<void> {
  const whole = `${root.path}/${path}`
  // What is hidden from agents is no part of the folder.
  if (isAmong(root.places.hidden, whole)) return
  if (isDirectory) {
    queue.push(path)
    return
  }
  const stats = await root.disk.find(whole)
  if (stats) marks.set(path, markOf(stats))
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(String((error as NodeJS.ErrnoException).code))
}
