import type { Agent, AgentDiagnostic, AgentFormat, AgentSource } from '../domain/agent.ts'
import { isWithin } from '../domain/within.ts'
import { lookAt, type Now, readBytes, realPathOf, stampOf } from './agent-files.ts'
import { type Finding, warning } from './finding.ts'
import { type AgentFile, brokenAgent, type Known, readAgent } from './read-agent.ts'
import { type Walked, walker } from './walk.ts'

/** A directory with agents. */
export interface AgentDirectory {
  path: string
  source: AgentSource
  /** Somebody named it: its absence is worth a word. */
  mustExist?: boolean
  /** It must not be a link that leads out of here. */
  within?: string
}

/** What a directory holds; the same object as long as nothing has changed. */
export interface Look {
  agents: Agent[]
  diagnostics: AgentDiagnostic[]
}

/** A file as it was read last. */
interface Kept {
  stamp: string
  isSettled: boolean
  agent: Agent
  /** The last version that could be used. */
  good?: Agent
}

/** Looks into a directory as often as it is asked to, and reads only what is new or changed. */
export function watchedDirectory(directory: AgentDirectory, known: Known, clock: Now): () => Look {
  const { format, skillsOnly } = conventionOf(directory.path)
  let root: string | undefined
  let walk: () => Walked = () => ({ files: [], diagnostics: [] })
  let files = new Map<string, Kept>()
  let last: Look = { agents: [], diagnostics: [] }
  return () => {
    const real = realPathOf(directory.path)
    if (real !== root) {
      root = real
      files = new Map()
      walk = real === undefined ? () => ({ files: [], diagnostics: [] }) : walker(real, { skillsOnly }, clock)
    }
    const problem = problemOf(directory, real)
    const walked = problem ? { files: [], diagnostics: [problem] } : walk()
    const now = new Map<string, Kept>()
    for (const path of walked.files) {
      const file = { path, source: directory.source, ...(format && { format }) }
      const kept = lookAgain(file, files.get(path), { root: root ?? '', known, clock })
      if (kept) now.set(path, kept)
    }
    files = now
    const agents = Array.from(now.values(), ({ agent }) => agent)
    if (!isSame(last, agents, walked.diagnostics)) last = { agents, diagnostics: walked.diagnostics }
    return last
  }
}

interface Looking {
  root: string
  known: Known
  clock: Now
}

function lookAgain(file: AgentFile, before: Kept | undefined, { root, known, clock }: Looking): Kept | undefined {
  const seen = lookAt(file.path, root)
  if (seen === undefined) return undefined
  if ('finding' in seen) return keptBroken(brokenAgent(file, seen.finding), before)
  if (before?.isSettled && before.stamp === stampOf(seen.stats, clock).text) return before
  const read = readBytes(file.path, clock)
  if ('finding' in read) return keptBroken(brokenAgent(file, read.finding), before)
  const agent = readAgent(read.bytes, file, known)
  const { text: stamp, isSettled } = read.stamp
  if (agent.status === 'broken') return { ...keptBroken(agent, before), stamp, isSettled }
  // Read again only to be sure: the same content stays the same object, which says that nothing has changed.
  const same = before?.good !== undefined && before.good === before.agent && before.good.hash === agent.hash
  const good = same ? before.agent : agent
  return { stamp, isSettled, agent: good, good }
}

/** A file that cannot be used: what it said before is used instead, where nobody has to trust each version. */
function keptBroken(broken: Agent, before: Kept | undefined): Kept {
  const good = broken.source === 'folder' ? undefined : before?.good
  const agent = good ? withLastGood(good, broken) : broken
  const same = before && JSON.stringify(before.agent) === JSON.stringify(agent) ? before.agent : agent
  return { stamp: '', isSettled: false, agent: same, ...(good && { good }) }
}

function withLastGood(good: Agent, broken: Agent): Agent {
  const said: AgentDiagnostic = { ...warning(brokenNow, 'mend it, or take the change back'), path: good.path }
  const why = broken.diagnostics.map((each): AgentDiagnostic => ({ ...each, level: 'warning' }))
  return { ...good, status: 'degraded', diagnostics: [said, ...why, ...good.diagnostics] }
}

const brokenNow = 'the file is broken now: what it said before is used until it is mended'

function isSame(last: Look, agents: readonly Agent[], diagnostics: readonly AgentDiagnostic[]): boolean {
  return (
    last.agents.length === agents.length &&
    last.agents.every((agent, at) => agent === agents[at]) &&
    JSON.stringify(last.diagnostics) === JSON.stringify(diagnostics)
  )
}

function problemOf({ path, mustExist, within }: AgentDirectory, real: string | undefined): AgentDiagnostic | undefined {
  const say = (finding: Finding): AgentDiagnostic => ({ ...finding, path })
  if (real === undefined)
    return mustExist ? say(warning('there is no such directory', 'make it, or leave it out')) : undefined
  if (within !== undefined && !isWithin(real, within))
    return say(warning(`it is a link out of the folder, to ${real}`, 'name that directory in skills: of heddle.yaml'))
  return undefined
}

const conventions: readonly [RegExp, AgentFormat | undefined, boolean][] = [
  [/\/\.claude\/agents$/, 'claude-agent', false],
  [/\/\.claude\/skills$/, 'claude-skill', true],
  [/\/\.agents\/skills$/, 'agent-skill', true],
  [/\/(?:\.|\.config\/)opencode\/agents?$/, 'opencode', false],
  [/\/\.openclaw(?:-[^/]+)?\/(?:workspace\/)?skills$/, 'openclaw', true],
]

/** What the name of a directory says about the files in it. */
function conventionOf(path: string): { format?: AgentFormat; skillsOnly: boolean } {
  const [, format, skillsOnly = false] = conventions.find(([pattern]) => pattern.test(path.replace(/\/+$/, ''))) ?? []
  return { skillsOnly, ...(format && { format }) }
}
