import { basename, dirname, join, resolve } from 'node:path'
import { type Agent, type AgentDiagnostic, isLive } from '../domain/agent.ts'
import { isWithin } from '../domain/within.ts'
import { type AgentDirectory, type Look, watchedDirectory } from './agent-directory.ts'
import { type Now, realPathOf } from './agent-files.ts'
import { note } from './finding.ts'
import type { Known } from './read-agent.ts'
import { keepTrust, type Trust, trustIn } from './trusted-agents.ts'
import { type WorkFolders, workFoldersIn } from './work-folders.ts'

export interface AgentsSettings extends Known {
  /** The owner's own and ours; of two agents with one name the first counts. */
  directories: readonly AgentDirectory[]
  /** Where the owner's trust is kept. */
  trustFile: string
  /** Where the folders of sessions are noted: what lies in one needs trust, whoever named it. */
  workFoldersFile: string
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

interface Watched {
  /** The directory, as whoever named it wrote it. */
  named: string
  look(): Look
}

/** What was seen at the last look into a folder. */
interface Seen {
  looks: readonly Look[]
  trust: Trust
  worked: WorkFolders
  result: Look
  byName: Map<string, Agent>
}

export function agentsOf(settings: AgentsSettings): Agents {
  const { directories, trustFile, workFoldersFile, clock } = settings
  const trustNow = trustIn(trustFile, clock)
  const workFoldersNow = workFoldersIn(workFoldersFile, clock)
  const watch = (directory: AgentDirectory): Watched => ({
    named: directory.path,
    look: watchedDirectory(directory, settings, clock),
  })
  const watched = directories.map(watch)
  const perFolder = new Map<string, Watched[]>()
  const seen = new Map<string, Seen>()

  const inFolder = (folder: string): Watched[] => {
    const known = perFolder.get(folder) ?? placesIn(folder, directories).map(watch)
    perFolder.set(folder, known)
    return known
  }
  const see = (asked?: string): Seen => {
    const folder = asked === undefined ? undefined : realPathOf(asked)
    const places = [...(folder === undefined ? [] : inFolder(folder)), ...watched]
    const looks = places.map(({ look }) => look())
    const trust = trustNow()
    // Read after the files: a run notes its folder before it can write one of them.
    const worked = workFoldersNow()
    const before = seen.get(folder ?? '')
    const isSame = before?.trust === trust && before.worked === worked
    if (before && isSame && looks.every((look, at) => look === before.looks[at])) return before
    const found = looks.flatMap((look, at) =>
      look.agents.map((agent): Found => ({ agent, named: places[at]?.named ?? agent.path })),
    )
    const agents = placed(found, { folder, trust, worked })
    const diagnostics = [...trust.diagnostics, ...worked.diagnostics, ...looks.flatMap((look) => look.diagnostics)]
    const byName = new Map(agents.filter(isLive).map((agent) => [agent.name, agent]))
    const now = { looks, trust, worked, result: { agents, diagnostics }, byName }
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

/** An agent, with the directory it was found in as that was named. */
interface Found {
  agent: Agent
  named: string
}

interface Judging {
  folder: string | undefined
  trust: Trust
  worked: WorkFolders
}

/** Who counts, who is hidden by whom, and who is not trusted yet; by name, those of one name in the order of their places. */
function placed(found: readonly Found[], judging: Judging): Agent[] {
  const first = new Map<string, Agent>()
  const done = found.map(({ agent, named }): Agent => {
    if (agent.status === 'broken') return agent
    const isTrusted = judging.trust.hashes.get(agent.path) === agent.hash
    const exposed = isTrusted ? undefined : exposedIn(agent, named, judging)
    if (exposed !== undefined) return untrusted(agent, exposed, judging.trust)
    const winner = first.get(agent.name)
    if (!winner) first.set(agent.name, agent)
    return winner ? shadowed(agent, winner) : agent
  })
  return done.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1))
}

/**
 * The folder in which a run can write a file, or a link on the way to it, whoever named its directory. Ours are exempt: a
 * run that could write them could write the program beside them.
 */
function exposedIn({ source, path }: Agent, named: string, { folder, worked }: Judging): string | undefined {
  if (source === 'built-in') return undefined
  if (folder !== undefined && source === 'folder') return folder
  for (const place of [realPathOf(path) ?? path, ...placesOnTheWay(named)]) {
    const around = folder !== undefined && isWithin(place, folder) ? folder : worked.around(place)
    if (around !== undefined) return around
  }
  return undefined
}

/** Where each part of a path lies: a link there decides where the rest of it leads. */
function placesOnTheWay(path: string): string[] {
  const places: string[] = []
  for (let part = resolve(path); part !== dirname(part); part = dirname(part))
    places.push(join(realPathOf(dirname(part)) ?? dirname(part), basename(part)))
  return places
}

function untrusted(agent: Agent, folder: string, { hashes }: Trust): Agent {
  const lies = agent.source === 'folder' ? 'it lies in the folder' : `it lies in ${folder}, where agents can write,`
  const why = hashes.has(agent.path) ? 'it has changed since you trusted it' : `${lies} and nobody trusts it yet`
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
