import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentDiagnostic } from '../domain/agent.ts'
import { isWithin, type Now, realPathOf, stampOf, unreadable } from './agent-files.ts'
import { type Finding, warning } from './finding.ts'

/** A directory as it was listed last. */
interface Listing {
  stamp: string
  isSettled: boolean
  files: string[]
  folders: string[]
  findings: AgentDiagnostic[]
}

export interface Walked {
  files: string[]
  diagnostics: AgentDiagnostic[]
}

const most = { depth: 6, folders: 2000, files: 10_000 }
const skillFile = /^skill\.md$/i
/** Files of a directory that are for its readers, unless they have a head: an agent may be called changelog. */
const papers =
  /^(?:readme|license|changelog|contributing|code_of_conduct|security|notice|agents|claude|gemini|memory)\.md$/i
/** Folders that hold no agents: hidden ones, packages, and the tests beside agents, whose files are for the test. */
const elsewhere = /^\.|^node_modules$|\.test$/

/**
 * Finds the files of a directory tree that may be agents, and does not list again what has not changed. A folder with
 * a SKILL.md is one agent, whatever else lies in it.
 */
export function walker(root: string, { skillsOnly }: { skillsOnly: boolean }, clock: Now): () => Walked {
  let listings = new Map<string, Listing>()
  return () => {
    const seen = new Map<string, Listing>()
    const walked: Walked = { files: [], diagnostics: [] }
    const skipped = { deep: 0, many: 0 }
    const waiting: { path: string; depth: number }[] = [{ path: root, depth: 0 }]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { path, depth } = next
      if (seen.size >= most.folders || walked.files.length >= most.files) {
        skipped.many++
        continue
      }
      const listing = listed(path, listings.get(path), { root, skillsOnly }, clock)
      if (!listing) continue
      seen.set(path, listing)
      walked.files.push(...listing.files)
      walked.diagnostics.push(...listing.findings)
      if (depth === most.depth) skipped.deep += listing.folders.length
      // The last one is taken first: turned around, the order is that of the names.
      else for (const folder of listing.folders.toReversed()) waiting.push({ path: folder, depth: depth + 1 })
    }
    listings = seen
    const tell = (finding: Finding) => walked.diagnostics.push({ ...finding, path: root })
    if (skipped.deep > 0)
      tell(
        warning(`${skipped.deep} folders are deeper than ${most.depth} levels and were left out`, 'nest less deeply'),
      )
    if (skipped.many > 0)
      tell(warning(`there are too many folders or files: ${skipped.many} folders were left out`, 'name a smaller one'))
    return walked
  }
}

interface Rules {
  root: string
  skillsOnly: boolean
}

function listed(path: string, before: Listing | undefined, rules: Rules, clock: Now): Listing | undefined {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (stats === undefined) return undefined
    const { text: stamp, isSettled } = stampOf(stats, clock)
    if (before?.isSettled && before.stamp === stamp) return before
    return { stamp, isSettled, ...contentOf(path, rules) }
  } catch (thrown) {
    const findings = [{ ...unreadable(thrown), level: 'warning' as const, path }]
    return { stamp: '', isSettled: false, files: [], folders: [], findings }
  }
}

function contentOf(path: string, { root, skillsOnly }: Rules): Pick<Listing, 'files' | 'folders' | 'findings'> {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  const skill = entries.find(({ name }) => name === 'SKILL.md') ?? entries.find(({ name }) => skillFile.test(name))
  if (skill) return { files: [join(path, skill.name)], folders: [], findings: [] }
  const files: string[] = []
  const folders: string[] = []
  const findings: AgentDiagnostic[] = []
  for (const entry of entries) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) {
      if (!elsewhere.test(entry.name)) folders.push(inner)
    } else if (/\.md$/i.test(entry.name)) {
      if (!skillsOnly && (!papers.test(entry.name) || (entry.isFile() && hasHead(inner)))) files.push(inner)
    } else if (entry.isSymbolicLink() && leavesTo(inner, root)) {
      // Inside the directory it is found at its own place.
      const message = 'it is a link out of the directory and was not followed'
      findings.push({ ...warning(message, 'copy what it leads to, or name that in skills:'), path: inner })
    }
  }
  return { files, folders, findings }
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
