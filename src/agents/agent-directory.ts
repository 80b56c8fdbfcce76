import { statSync } from 'node:fs'
import type { Agent, AgentDiagnostic, AgentFormat, AgentSource } from '../domain/agent.ts'
import { isWithin } from '../domain/tools/within.ts'
import { type CurrentTime, readBytes, realPathOf, stampOf, statFile } from './agent-files.ts'
import { type Finding, warningFinding } from './finding.ts'
import { type AgentFile, brokenAgent, type KnownNames, readAgent } from './read-agent.ts'
import { type Walker, walker } from './walk.ts'

/** A directory with agents. */
export interface AgentDirectory {
  path: string
  source: AgentSource
  /** Named in the config or by a flag: its absence is reported. */
  mustExist?: boolean
  /** Folder that it must not lead out of by a link. */
  within?: string
}

/** Agents of a directory; the same object as long as nothing has changed. */
export interface AgentScan {
  agents: Agent[]
  diagnostics: AgentDiagnostic[]
}

/** A file as last read. */
interface CachedFile {
  stamp: string
  isSettled: boolean
  agent: Agent
  /** The last version that could be used. */
  good?: Agent
}

/** A directory that is scanned again and again. */
export interface WatchedDirectory {
  /** Scans it; reads only new or changed files. */
  look(): AgentScan
  /** Whether the directory, and this file if it is one of its own, are as they were at the last scan. */
  isUnchanged(path: string): boolean
}

const emptyWalker: Walker = {
  walk: () => ({ files: [], diagnostics: [] }),
  isUnchanged: (path) => statSync(path, { throwIfNoEntry: false }) === undefined,
}

export function watchedDirectory(directory: AgentDirectory, known: KnownNames, clock: CurrentTime): WatchedDirectory {
  const { format, skillsOnly } = conventionOf(directory.path)
  let root: string | undefined
  let walking = emptyWalker
  let files = new Map<string, CachedFile>()
  let last: AgentScan = { agents: [], diagnostics: [] }
  const look = () => {
    const real = realPathOf(directory.path)
    if (real !== root) {
      root = real
      files = new Map()
      walking = real === undefined ? emptyWalker : walker(real, { skillsOnly }, clock)
    }
    const problem = problemOf(directory, real)
    const walked = problem ? { files: [], diagnostics: [problem] } : walking.walk()
    const now = new Map<string, CachedFile>()
    for (const path of walked.files) {
      const file = { path, source: directory.source, ...(format && { format }) }
      const cached = readIfChanged(file, files.get(path), { root: root ?? '', known, clock })
      if (cached) now.set(path, cached)
    }
    files = now
    const agents = Array.from(now.values(), ({ agent }) => agent)
    if (!isSameScan(last, agents, walked.diagnostics)) last = { agents, diagnostics: walked.diagnostics }
    return last
  }
  const isUnchangedFile = (path: string, { stamp, isSettled }: CachedFile) => {
    const found = statFile(path, root ?? '')
    return isSettled && found !== undefined && 'stats' in found && stampOf(found.stats, clock).text === stamp
  }
  const isSameDirectory = () => {
    try {
      return walking.isUnchanged(directory.path)
    } catch {
      // The next scan tells why.
      return false
    }
  }
  return {
    look,
    isUnchanged(path) {
      const file = files.get(path)
      return isSameDirectory() && (file === undefined || isUnchangedFile(path, file))
    },
  }
}

interface ReadContext {
  root: string
  known: KnownNames
  clock: CurrentTime
}

function readIfChanged(
  file: AgentFile,
  before: CachedFile | undefined,
  { root, known, clock }: ReadContext,
): CachedFile | undefined {
  const found = statFile(file.path, root)
  if (found === undefined) return undefined
  if ('finding' in found) return brokenFile(brokenAgent(file, found.finding), before)
  if (before?.isSettled && before.stamp === stampOf(found.stats, clock).text) return before
  const read = readBytes(file.path, clock)
  if ('finding' in read) return brokenFile(brokenAgent(file, read.finding), before)
  const agent = readAgent(read.bytes, file, known)
  const { text: stamp, isSettled } = read.stamp
  if (agent.status === 'broken') return { ...brokenFile(agent, before), stamp, isSettled }
  // Unchanged content keeps the same object, which tells callers that nothing has changed.
  const same = before?.good !== undefined && before.good === before.agent && before.good.hash === agent.hash
  const good = same ? before.agent : agent
  return { stamp, isSettled, agent: good, good }
}

/** An unusable file: its last good version is used instead, except where each version needs trust. */
function brokenFile(broken: Agent, before: CachedFile | undefined): CachedFile {
  const good = broken.source === 'folder' ? undefined : before?.good
  const agent = good ? withLastGood(good, broken) : broken
  const same = before && JSON.stringify(before.agent) === JSON.stringify(agent) ? before.agent : agent
  return { stamp: '', isSettled: false, agent: same, ...(good && { good }) }
}

function withLastGood(good: Agent, broken: Agent): Agent {
  const brokenNote: AgentDiagnostic = { ...warningFinding(brokenNow, 'fix it, or undo the change'), path: good.path }
  const why = broken.diagnostics.map((each): AgentDiagnostic => ({ ...each, level: 'warning' }))
  return { ...good, status: 'degraded', diagnostics: [brokenNote, ...why, ...good.diagnostics] }
}

const brokenNow = 'the file is broken now: its last good version is used until you fix it'

function isSameScan(last: AgentScan, agents: readonly Agent[], diagnostics: readonly AgentDiagnostic[]): boolean {
  return (
    last.agents.length === agents.length &&
    last.agents.every((agent, at) => agent === agents[at]) &&
    JSON.stringify(last.diagnostics) === JSON.stringify(diagnostics)
  )
}

function problemOf({ path, mustExist, within }: AgentDirectory, real: string | undefined): AgentDiagnostic | undefined {
  const toDiagnostic = (finding: Finding): AgentDiagnostic => ({ ...finding, path })
  if (real === undefined)
    return mustExist
      ? toDiagnostic(warningFinding('there is no such directory', 'create it, or leave it out'))
      : undefined
  if (within !== undefined && !isWithin(real, within))
    return toDiagnostic(
      warningFinding(`it is a link out of the folder, to ${real}`, 'add that directory to skills: in heddle.yaml'),
    )
  return undefined
}

const conventions: readonly [RegExp, AgentFormat | undefined, boolean][] = [
  [/\/\.claude\/agents$/, 'claude-agent', false],
  [/\/\.claude\/skills$/, 'claude-skill', true],
  [/\/\.agents\/skills$/, 'agent-skill', true],
  [/\/(?:\.|\.config\/)opencode\/agents?$/, 'opencode', false],
  [/\/\.openclaw(?:-[^/]+)?\/(?:workspace\/)?skills$/, 'openclaw', true],
]

/** Format implied by a directory's path. */
function conventionOf(path: string): { format?: AgentFormat; skillsOnly: boolean } {
  const [, format, skillsOnly = false] = conventions.find(([pattern]) => pattern.test(path.replace(/\/+$/, ''))) ?? []
  return { skillsOnly, ...(format && { format }) }
}
