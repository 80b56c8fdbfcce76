import { join } from 'node:path'
import { type Agent, type AgentDiagnostic, isLive } from '../domain/agent.ts'
import { type AgentDirectory, type Look, watchedDirectory } from './agent-directory.ts'
import { isWithin, type Now, realPathOf } from './agent-files.ts'
import { note } from './finding.ts'
import type { Known } from './read-agent.ts'
import { keepTrust, type Trust, trustIn } from './trusted-agents.ts'

export interface AgentsSettings extends Known {
  /** The owner's own and ours; of two agents with one name the first counts. */
  directories: readonly AgentDirectory[]
  /** Where the owner's trust is kept. */
  trustFile: string
  clock: Now
}

/** Everyone who can be given work. Looks at the files each time, so that a change counts from the next look on. */
export interface Agents {
  /** All there are, by name, those that cannot be used included. */
  list(folder?: string): readonly Agent[]
  /** The same, with what is wrong with the directories themselves. */
  look(folder?: string): Look
  /** The agent that answers to a name in a folder. */
  find(name: string, folder?: string): Agent | undefined
  /** Lets this version of a file count; another one must be trusted anew. */
  trust(agent: Pick<Agent, 'path' | 'hash'>): void
}

/** Where a folder keeps agents: ours first, then what other programs read. */
const folderPlaces = [
  ...['.heddle/agents', '.heddle/skills', '.agents/skills', '.claude/agents', '.claude/skills'],
  ...['.opencode/agent', '.opencode/agents'],
]

/** What was seen at the last look into a folder. */
interface Seen {
  looks: readonly Look[]
  trust: Trust
  result: Look
  byName: Map<string, Agent>
}

export function agentsOf(settings: AgentsSettings): Agents {
  const { directories, trustFile, clock } = settings
  const trustNow = trustIn(trustFile, clock)
  const watched = directories.map((directory) => watchedDirectory(directory, settings, clock))
  const perFolder = new Map<string, (() => Look)[]>()
  const seen = new Map<string, Seen>()

  const inFolder = (folder: string): (() => Look)[] => {
    const known =
      perFolder.get(folder) ?? placesIn(folder, directories).map((each) => watchedDirectory(each, settings, clock))
    perFolder.set(folder, known)
    return known
  }
  const see = (asked?: string): Seen => {
    const folder = asked === undefined ? undefined : realPathOf(asked)
    const looks = [...(folder === undefined ? [] : inFolder(folder)), ...watched].map((look) => look())
    const trust = trustNow()
    const before = seen.get(folder ?? '')
    if (before && before.trust === trust && looks.every((look, at) => look === before.looks[at])) return before
    const agents = placed(
      looks.flatMap((look) => look.agents),
      { folder, trust },
    )
    const diagnostics = [...trust.diagnostics, ...looks.flatMap((look) => look.diagnostics)]
    const byName = new Map(agents.filter(isLive).map((agent) => [agent.name, agent]))
    const now = { looks, trust, result: { agents, diagnostics }, byName }
    seen.set(folder ?? '', now)
    return now
  }
  return {
    list: (folder) => see(folder).result.agents,
    look: (folder) => see(folder).result,
    find: (name, folder) => see(folder).byName.get(name),
    trust: ({ path, hash }) => keepTrust(trustFile, path, hash),
  }
}

function placesIn(folder: string, directories: readonly AgentDirectory[]): AgentDirectory[] {
  // A home that lies in the folder is still the home.
  const owned = new Set(directories.map(({ path }) => realPathOf(path)))
  return folderPlaces
    .map((place): AgentDirectory => ({ path: join(folder, place), source: 'folder', within: folder }))
    .filter(({ path }) => !owned.has(realPathOf(path) ?? path))
}

/** Who counts, who is hidden by whom, and who is not trusted yet; by name, those of one name in the order of their places. */
function placed(agents: readonly Agent[], { folder, trust }: { folder: string | undefined; trust: Trust }): Agent[] {
  const first = new Map<string, Agent>()
  const done = agents.map((agent): Agent => {
    if (agent.status === 'broken') return agent
    const winner = first.get(agent.name)
    if (mustBeTrusted(agent, folder) && trust.hashes.get(agent.path) !== agent.hash) return untrusted(agent, trust)
    if (!winner) first.set(agent.name, agent)
    return winner ? shadowed(agent, winner) : agent
  })
  return done.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1))
}

/** What lies in the folder may have been written by a run, also where the owner named the directory. */
function mustBeTrusted({ source, path }: Agent, folder: string | undefined): boolean {
  return source === 'folder' || (source === 'config' && folder !== undefined && isWithin(path, folder))
}

function untrusted(agent: Agent, { hashes }: Trust): Agent {
  const why = hashes.has(agent.path)
    ? 'it has changed since you trusted it'
    : 'it lies in the folder and nobody trusts it yet'
  return told(agent, { status: 'untrusted' }, why, `read it, then: heddle agents trust ${agent.path}`)
}

function shadowed(agent: Agent, winner: Agent): Agent {
  const why = `${winner.path} has the same name and comes first: ${agent.path} is not used`
  return told(agent, { shadowedBy: winner.path }, why, 'rename one of them')
}

function told(agent: Agent, change: Partial<Agent>, message: string, remedy: string): Agent {
  const said: AgentDiagnostic = { ...note(message, remedy), path: agent.path }
  return { ...agent, ...change, diagnostics: [said, ...agent.diagnostics] }
}
