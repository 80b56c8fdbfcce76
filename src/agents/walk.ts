import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentDiagnostic } from '../domain/agent.ts'
import { isWithin } from '../domain/tools/within.ts'
import { type CurrentTime, realPathOf, stampOf, unreadableFinding } from './agent-files.ts'
import { type Finding, noteFinding, warningFinding } from './finding.ts'

/** A directory as last listed. */
interface FolderListing {
  stamp: string
  isSettled: boolean
  /** Its SKILL.md, which makes the folder one agent. */
  skill?: string
  /** Its other markdown files. */
  pages: string[]
  folders: string[]
  hidden: string[]
  findings: AgentDiagnostic[]
  /** Pages with frontmatter; computed only for skipped folders. */
  withFrontmatter?: string[]
}

interface FoundAgentFiles {
  files: string[]
  diagnostics: AgentDiagnostic[]
}

/** Finds agent files, again and again. */
export interface Walker {
  walk(): FoundAgentFiles
  /** Whether this path leads to the directory, and nothing was added to or removed from it since the last walk. */
  isUnchanged(path: string): boolean
}

const limits = { depth: 6, folders: 2000, files: 10_000, foldersLeftOut: 500, reported: 20 }
const skillFile = /^skill\.md$/i
/** Documents for readers, unless they have frontmatter: an agent may be called changelog. */
const documents =
  /^(?:readme|license|changelog|contributing|code_of_conduct|security|notice|agents|claude|gemini|memory)\.md$/i
/** Folders without agents: packages, git directories, and agent tests. */
const excludedFolders = /^node_modules$|^\.git$|\.test$/

const reasons = {
  hidden: 'it is in a hidden folder and was skipped',
  deep: `it is deeper than ${limits.depth} levels and was skipped`,
}

/** A folder to list. */
interface FolderToList {
  path: string
  depth: number
  /** Inside a skill's folder only other skills are agents; other files belong to the skill. */
  inSkill: boolean
}

interface SkippedFolder extends FolderToList {
  why: keyof typeof reasons
}

/**
 * Finds possible agent files in a directory tree, and lists unchanged folders only once. A folder with a SKILL.md is one
 * agent, and so is each folder in it that has one. Skipped agents are reported.
 */
export function walker(root: string, { skillsOnly }: { skillsOnly: boolean }, clock: CurrentTime): Walker {
  let listings = new Map<string, FolderListing>()
  const walk = () => {
    const seen = new Map<string, FolderListing>()
    const list = (path: string) => {
      const listing = listFolder(path, listings.get(path), root, clock)
      if (listing) seen.set(path, listing)
      return listing
    }
    const found: FoundAgentFiles = { files: [], diagnostics: [] }
    const skipped: SkippedFolder[] = []
    const tooMany: string[] = []
    const waiting: FolderToList[] = [{ path: root, depth: 0, inSkill: skillsOnly }]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (seen.size >= limits.folders || found.files.length >= limits.files) {
        tooMany.push(next.path)
        continue
      }
      const listing = list(next.path)
      if (!listing) continue
      found.files.push(...filesOf(listing, next))
      found.diagnostics.push(...listing.findings)
      const inner = subfolders(listing, next)
      skipped.push(...inner.hidden.map((place) => ({ ...place, why: 'hidden' as const })))
      if (next.depth === limits.depth)
        skipped.push(...inner.folders.map((place) => ({ ...place, why: 'deep' as const })))
      // The stack takes the last one first, so reverse to visit in name order.
      else waiting.push(...inner.folders.toReversed())
    }
    found.diagnostics.push(...aboutSkipped(root, skipped, list), ...aboutTooMany(root, tooMany))
    listings = seen
    return found
  }
  return { walk, isUnchanged: (path) => isListed(path, listings.get(root), clock) }
}

/** Whether a path leads to the directory that was listed, and it still has these entries, as far as its own stamp tells. */
function isListed(path: string, listing: FolderListing | undefined, clock: CurrentTime): boolean {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return listing?.isSettled === true && stats !== undefined && stampOf(stats, clock).text === listing.stamp
}

function filesOf({ skill, pages }: FolderListing, { inSkill }: FolderToList): string[] {
  if (skill !== undefined) return [skill]
  return inSkill ? [] : pages
}

function subfolders({ skill, folders, hidden }: FolderListing, { depth, inSkill }: FolderToList) {
  const place = (path: string): FolderToList => ({ path, depth: depth + 1, inSkill: inSkill || skill !== undefined })
  return { folders: folders.map(place), hidden: hidden.map(place) }
}

/** Reports agents in skipped folders, so that the user knows why they are missing. */
function aboutSkipped(
  root: string,
  skipped: SkippedFolder[],
  list: (path: string) => FolderListing | undefined,
): AgentDiagnostic[] {
  const found: AgentDiagnostic[] = []
  const waiting = skipped.toReversed()
  for (let looked = 0; looked < limits.foldersLeftOut; looked++) {
    const next = waiting.pop()
    if (!next) break
    const listing = list(next.path)
    if (!listing) continue
    for (const path of filesOf({ ...listing, pages: pagesWithFrontmatter(listing) }, next)) {
      const remedy = `move it, or add its directory to skills: in heddle.yaml: ${dirname(path)}`
      found.push({ ...warningFinding(reasons[next.why], remedy), path })
    }
    const { folders, hidden } = subfolders(listing, next)
    waiting.push(...[...folders, ...hidden].toReversed().map((place) => ({ ...place, why: next.why })))
  }
  const reported = found.slice(0, limits.reported).sort((a, b) => (a.path < b.path ? -1 : 1))
  const more = found.length - reported.length
  const forRoot = (finding: Finding): AgentDiagnostic => ({ ...finding, path: root })
  const remedy = 'add the directories that hold agents to skills: in heddle.yaml'
  return [
    ...reported,
    ...(more > 0 ? [forRoot(warningFinding(`${more} more agents were left out like these`, remedy))] : []),
    ...(waiting.length > 0
      ? [forRoot(noteFinding(`${waiting.length} hidden or deep folders were not searched for agents`, remedy))]
      : []),
  ]
}

/** A file without frontmatter is just some text. */
function pagesWithFrontmatter(listing: FolderListing): string[] {
  listing.withFrontmatter ??= listing.pages.filter((path) => {
    try {
      return hasFrontmatter(path)
    } catch {
      return false
    }
  })
  return listing.withFrontmatter
}

function aboutTooMany(root: string, folders: string[]): AgentDiagnostic[] {
  const [first] = folders
  if (first === undefined) return []
  const message = `there are too many folders or files: ${folders.length} folders were left out, the first is ${first}`
  return [{ ...warningFinding(message, 'add the directories that hold agents to skills: in heddle.yaml'), path: root }]
}

function listFolder(
  path: string,
  before: FolderListing | undefined,
  root: string,
  clock: CurrentTime,
): FolderListing | undefined {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (stats === undefined) return undefined
    const { text: stamp, isSettled } = stampOf(stats, clock)
    if (before?.isSettled && before.stamp === stamp) return before
    return { stamp, isSettled, ...readFolder(path, root) }
  } catch (thrown) {
    const findings = [{ ...unreadableFinding(thrown), level: 'warning' as const, path }]
    return { stamp: '', isSettled: false, pages: [], folders: [], hidden: [], findings }
  }
}

function readFolder(path: string, root: string): Omit<FolderListing, 'stamp' | 'isSettled'> {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  const skill = entries.find(({ name }) => name === 'SKILL.md') ?? entries.find(({ name }) => skillFile.test(name))
  const found: Omit<FolderListing, 'stamp' | 'isSettled'> = { pages: [], folders: [], hidden: [], findings: [] }
  if (skill) found.skill = join(path, skill.name)
  for (const entry of entries) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) {
      if (!excludedFolders.test(entry.name)) (entry.name.startsWith('.') ? found.hidden : found.folders).push(inner)
      continue
    }
    // Other files in a skill's folder belong to the skill.
    if (skill) continue
    if (/\.md$/i.test(entry.name)) {
      if (!documents.test(entry.name) || (entry.isFile() && hasFrontmatter(inner))) found.pages.push(inner)
    } else if (entry.isSymbolicLink() && linksToOutsideDirectory(inner, root)) {
      // A target inside the directory is found at its own path.
      const message = 'it is a link out of the directory and was not followed'
      found.findings.push({ ...warningFinding(message, 'copy its target, or name that in skills:'), path: inner })
    }
  }
  return found
}

function hasFrontmatter(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const first = Buffer.alloc(8)
    readSync(file, first, 0, first.length, 0)
    return /^(?:\ufeff)?---\r?\n/.test(first.toString('utf8'))
  } finally {
    closeSync(file)
  }
}

/** Whether a link leads to a directory outside the root. */
function linksToOutsideDirectory(link: string, root: string): boolean {
  const target = realPathOf(link)
  if (target === undefined || isWithin(target, root)) return false
  return statSync(target, { throwIfNoEntry: false })?.isDirectory() ?? false
}
