import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentDiagnostic } from '../domain/agent.ts'
import { isWithin } from '../domain/within.ts'
import { type Now, realPathOf, stampOf, unreadable } from './agent-files.ts'
import { type Finding, note, warning } from './finding.ts'

/** A directory as it was listed last. */
interface Listing {
  stamp: string
  isSettled: boolean
  /** Its SKILL.md, which makes the folder one agent. */
  skill?: string
  /** Its other markdown files. */
  pages: string[]
  folders: string[]
  hidden: string[]
  findings: AgentDiagnostic[]
  /** Those of the pages that have a head; looked at only where they are left out. */
  headed?: string[]
}

export interface Walked {
  files: string[]
  diagnostics: AgentDiagnostic[]
}

const most = { depth: 6, folders: 2000, files: 10_000, foldersLeftOut: 500, named: 20 }
const skillFile = /^skill\.md$/i
/** Files of a directory that are for its readers, unless they have a head: an agent may be called changelog. */
const papers =
  /^(?:readme|license|changelog|contributing|code_of_conduct|security|notice|agents|claude|gemini|memory)\.md$/i
/** Folders that hold no agents: packages, what git keeps, and the tests beside agents, whose files are for the test. */
const elsewhere = /^node_modules$|^\.git$|\.test$/

const reasons = {
  hidden: 'it lies in a hidden folder and was left out',
  deep: `it lies deeper than ${most.depth} levels and was left out`,
}

/** A folder that is to be listed. */
interface Place {
  path: string
  depth: number
  /** In the folder of a skill only other skills are agents: the rest belongs to that skill. */
  inSkill: boolean
}

interface PlaceLeftOut extends Place {
  why: keyof typeof reasons
}

/**
 * Finds the files of a directory tree that may be agents, and does not list again what has not changed. A folder with
 * a SKILL.md is one agent, and so is each folder in it that has one. Agents that are left out are named.
 */
export function walker(root: string, { skillsOnly }: { skillsOnly: boolean }, clock: Now): () => Walked {
  let listings = new Map<string, Listing>()
  return () => {
    const seen = new Map<string, Listing>()
    const list = (path: string) => {
      const listing = listed(path, listings.get(path), root, clock)
      if (listing) seen.set(path, listing)
      return listing
    }
    const walked: Walked = { files: [], diagnostics: [] }
    const leftOut: PlaceLeftOut[] = []
    const tooMany: string[] = []
    const waiting: Place[] = [{ path: root, depth: 0, inSkill: skillsOnly }]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (seen.size >= most.folders || walked.files.length >= most.files) {
        tooMany.push(next.path)
        continue
      }
      const listing = list(next.path)
      if (!listing) continue
      walked.files.push(...filesOf(listing, next))
      walked.diagnostics.push(...listing.findings)
      const inner = placesIn(listing, next)
      leftOut.push(...inner.hidden.map((place) => ({ ...place, why: 'hidden' as const })))
      if (next.depth === most.depth) leftOut.push(...inner.folders.map((place) => ({ ...place, why: 'deep' as const })))
      // The last one is taken first: turned around, the order is that of the names.
      else waiting.push(...inner.folders.toReversed())
    }
    walked.diagnostics.push(...aboutLeftOut(root, leftOut, list), ...aboutTooMany(root, tooMany))
    listings = seen
    return walked
  }
}

function filesOf({ skill, pages }: Listing, { inSkill }: Place): string[] {
  if (skill !== undefined) return [skill]
  return inSkill ? [] : pages
}

function placesIn({ skill, folders, hidden }: Listing, { depth, inSkill }: Place) {
  const place = (path: string): Place => ({ path, depth: depth + 1, inSkill: inSkill || skill !== undefined })
  return { folders: folders.map(place), hidden: hidden.map(place) }
}

/** Names the agents in folders that are left out: whoever put them there must not wonder why nobody answers. */
function aboutLeftOut(
  root: string,
  leftOut: PlaceLeftOut[],
  list: (path: string) => Listing | undefined,
): AgentDiagnostic[] {
  const found: AgentDiagnostic[] = []
  const waiting = leftOut.toReversed()
  for (let looked = 0; looked < most.foldersLeftOut; looked++) {
    const next = waiting.pop()
    if (!next) break
    const listing = list(next.path)
    if (!listing) continue
    for (const path of filesOf({ ...listing, pages: headedPages(listing) }, next)) {
      const remedy = `move it, or name its directory in skills: of heddle.yaml: ${dirname(path)}`
      found.push({ ...warning(reasons[next.why], remedy), path })
    }
    const { folders, hidden } = placesIn(listing, next)
    waiting.push(...[...folders, ...hidden].toReversed().map((place) => ({ ...place, why: next.why })))
  }
  const named = found.slice(0, most.named).sort((a, b) => (a.path < b.path ? -1 : 1))
  const more = found.length - named.length
  const tell = (finding: Finding): AgentDiagnostic => ({ ...finding, path: root })
  const remedy = 'name the directories that hold agents in skills: of heddle.yaml'
  return [
    ...named,
    ...(more > 0 ? [tell(warning(`${more} more agents were left out like these`, remedy))] : []),
    ...(waiting.length > 0
      ? [tell(note(`${waiting.length} hidden or deep folders were not looked into for agents`, remedy))]
      : []),
  ]
}

/** Without a head it is some text that happens to lie there. */
function headedPages(listing: Listing): string[] {
  listing.headed ??= listing.pages.filter((path) => {
    try {
      return hasHead(path)
    } catch {
      return false
    }
  })
  return listing.headed
}

function aboutTooMany(root: string, folders: string[]): AgentDiagnostic[] {
  const [first] = folders
  if (first === undefined) return []
  const message = `there are too many folders or files: ${folders.length} folders were left out, the first is ${first}`
  return [{ ...warning(message, 'name the directories that hold agents in skills: of heddle.yaml'), path: root }]
}

function listed(path: string, before: Listing | undefined, root: string, clock: Now): Listing | undefined {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (stats === undefined) return undefined
    const { text: stamp, isSettled } = stampOf(stats, clock)
    if (before?.isSettled && before.stamp === stamp) return before
    return { stamp, isSettled, ...contentOf(path, root) }
  } catch (thrown) {
    const findings = [{ ...unreadable(thrown), level: 'warning' as const, path }]
    return { stamp: '', isSettled: false, pages: [], folders: [], hidden: [], findings }
  }
}

function contentOf(path: string, root: string): Omit<Listing, 'stamp' | 'isSettled'> {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  const skill = entries.find(({ name }) => name === 'SKILL.md') ?? entries.find(({ name }) => skillFile.test(name))
  const found: Omit<Listing, 'stamp' | 'isSettled'> = { pages: [], folders: [], hidden: [], findings: [] }
  if (skill) found.skill = join(path, skill.name)
  for (const entry of entries) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) {
      if (!elsewhere.test(entry.name)) (entry.name.startsWith('.') ? found.hidden : found.folders).push(inner)
      continue
    }
    // What else lies in the folder of a skill belongs to it.
    if (skill) continue
    if (/\.md$/i.test(entry.name)) {
      if (!papers.test(entry.name) || (entry.isFile() && hasHead(inner))) found.pages.push(inner)
    } else if (entry.isSymbolicLink() && leavesTo(inner, root)) {
      // Inside the directory it is found at its own place.
      const message = 'it is a link out of the directory and was not followed'
      found.findings.push({ ...warning(message, 'copy what it leads to, or name that in skills:'), path: inner })
    }
  }
  return found
}

function hasHead(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const first = Buffer.alloc(8)
    readSync(file, first, 0, first.length, 0)
    return /^(?:\ufeff)?---\r?\n/.test(first.toString('utf8'))
  } finally {
    closeSync(file)
  }
}

/** Whether a link leads to a directory elsewhere. */
function leavesTo(link: string, root: string): boolean {
  const target = realPathOf(link)
  if (target === undefined || isWithin(target, root)) return false
  return statSync(target, { throwIfNoEntry: false })?.isDirectory() ?? false
}
