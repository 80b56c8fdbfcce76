import { basename, dirname, join, resolve } from 'node:path'
import { type Agent, type AgentDiagnostic, agentDirectories, isLive } from '../domain/agent.ts'
import type { Millis } from '../domain/clock.ts'
import { isWithin } from '../domain/tools/within.ts'
import { type AgentDirectory, type AgentScan, type WatchedDirectory, watchedDirectory } from './agent-directory.ts'
import { type CurrentTime, realPathOf } from './agent-files.ts'
import { noteFinding } from './finding.ts'
import type { KnownNames } from './read-agent.ts'
import { storeTrust, type Trust, trustReader } from './trusted-agents.ts'
import { type WorkFolders, workFoldersIn } from './work-folders.ts'

export interface AgentsSettings extends KnownNames {
  /** The user's directories and the shipped ones; of two agents with one name the first wins. */
  directories: readonly AgentDirectory[]
  /** File with the user's trust decisions. */
  trustFile: string
  /** File with the folders of all sessions: agent files inside them need trust. */
  workFoldersFile: string
  clock: CurrentTime
}

/**
 * All agents that can be given work. Checks the files on each call, so that a change takes effect at once; `find` checks the
 * agent's own file, and all others at most every ten seconds.
 */
export interface Agents {
  /** All agents by name, including unusable ones. */
  list(folder?: string): readonly Agent[]
  /** The same, with problems of the directories themselves. */
  look(folder?: string): AgentScan
  /** The usable agent with this name in a folder. */
  find(name: string, folder?: string): Agent | undefined
  /** Trusts this version of a file; a changed file needs trust again. */
  trust(agent: Pick<Agent, 'path' | 'hash'>): void
}

/** For so long a change in another agent's file may go unseen when one agent is looked up by its name. */
const maxScanAge: Millis = 10_000

interface Watched extends WatchedDirectory {
  /** The directory as configured, before links are resolved. */
  named: string
}

/** Result of the last scan of a folder. */
interface FolderScan {
  looks: readonly AgentScan[]
  trust: Trust
  worked: WorkFolders
  result: AgentScan
  byName: Map<string, Agent>
  at: Millis
}

export function agentsOf(settings: AgentsSettings): Agents {
  const { directories, trustFile, workFoldersFile, clock } = settings
  const trustNow = trustReader(trustFile, clock)
  const workFoldersNow = workFoldersIn(workFoldersFile, clock)
  const watch = (directory: AgentDirectory): Watched => ({
    named: directory.path,
    ...watchedDirectory(directory, settings, clock),
  })
  const watched = directories.map(watch)
  const perFolder = new Map<string, Watched[]>()
  const scans = new Map<string, FolderScan>()

  const inFolder = (folder: string): Watched[] => {
    const known = perFolder.get(folder) ?? placesIn(folder, directories).map(watch)
    perFolder.set(folder, known)
    return known
  }
  const scan = (requestedFolder?: string): FolderScan => {
    const folder = requestedFolder === undefined ? undefined : realPathOf(requestedFolder)
    const places = [...(folder === undefined ? [] : inFolder(folder)), ...watched]
    const looks = places.map(({ look }) => look())
    const trust = trustNow()
    // Read after the files: a run records its folder before it can write any of them.
    const worked = workFoldersNow()
    const before = scans.get(folder ?? '')
    const isSame = before?.trust === trust && before.worked === worked
    if (before && isSame && looks.every((look, at) => look === before.looks[at])) {
      before.at = clock.now()
      return before
    }
    const found = looks.flatMap((look, at) =>
      look.agents.map((agent): Found => ({ agent, named: places[at]?.named ?? agent.path })),
    )
    const agents = resolveAgents(found, { folder, trust, worked })
    const diagnostics = [...trust.diagnostics, ...worked.diagnostics, ...looks.flatMap((look) => look.diagnostics)]
    const byName = new Map(agents.filter(isLive).map((agent) => [agent.name, agent]))
    const now = { looks, trust, worked, result: { agents, diagnostics }, byName, at: clock.now() }
    scans.set(folder ?? '', now)
    return now
  }
  /** The agent of a recent scan, if its own file, the directories and the trust are unchanged: not all files are looked at. */
  const findAgain = (name: string, requestedFolder?: string): Agent | undefined => {
    const folder = requestedFolder === undefined ? undefined : realPathOf(requestedFolder)
    const before = scans.get(folder ?? '')
    const agent = before?.byName.get(name)
    if (!before || !agent || clock.now() - before.at >= maxScanAge) return undefined
    const places = [...(folder === undefined ? [] : inFolder(folder)), ...watched]
    if (!places.every((place) => place.isUnchanged(agent.path))) return undefined
    return trustNow() === before.trust && workFoldersNow() === before.worked ? agent : undefined
  }
  return {
    list: (folder) => scan(folder).result.agents,
    look: (folder) => scan(folder).result,
    find: (name, folder) => findAgain(name, folder) ?? scan(folder).byName.get(name),
    trust: ({ path, hash }) => storeTrust(trustFile, path, hash),
  }
}

function placesIn(folder: string, directories: readonly AgentDirectory[]): AgentDirectory[] {
  // A home inside the folder is still the home.
  const owned = new Set(directories.map(({ path }) => realPathOf(path)))
  return agentDirectories
    .map((place): AgentDirectory => ({ path: join(folder, place), source: 'folder', within: folder }))
    .filter(({ path }) => !owned.has(realPathOf(path) ?? path))
}

/** An agent, with its directory as configured. */
interface Found {
  agent: Agent
  named: string
}

interface TrustContext {
  folder: string | undefined
  trust: Trust
  worked: WorkFolders
}

/** Resolves trust and name conflicts; sorted by name, equal names by precedence. */
function resolveAgents(found: readonly Found[], context: TrustContext): Agent[] {
  const first = new Map<string, Agent>()
  const done = found.map(({ agent, named }): Agent => {
    if (agent.status === 'broken') return agent
    const isTrusted = context.trust.hashes.get(agent.path) === agent.hash
    const writableIn = isTrusted ? undefined : writableFolder(agent, named, context)
    if (writableIn !== undefined) return untrusted(agent, writableIn, context.trust)
    const winner = first.get(agent.name)
    if (!winner) first.set(agent.name, agent)
    return winner ? shadowed(agent, winner) : agent
  })
  return done.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1))
}

/**
 * The work folder in which a run could write the agent's file, or a link on the way to it. Shipped agents are exempt: a run
 * that could write them could also write the program.
 */
function writableFolder({ source, path }: Agent, named: string, { folder, worked }: TrustContext): string | undefined {
  if (source === 'built-in') return undefined
  if (folder !== undefined && source === 'folder') return folder
  for (const place of [realPathOf(path) ?? path, ...pathComponents(named)]) {
    const around = folder !== undefined && isWithin(place, folder) ? folder : worked.around(place)
    if (around !== undefined) return around
  }
  return undefined
}

/** Location of each component of a path: a link there decides where the rest leads. */
function pathComponents(path: string): string[] {
  const places: string[] = []
  for (let part = resolve(path); part !== dirname(part); part = dirname(part))
    places.push(join(realPathOf(dirname(part)) ?? dirname(part), basename(part)))
  return places
}

function untrusted(agent: Agent, folder: string, { hashes }: Trust): Agent {
  const place = agent.source === 'folder' ? 'it is in the folder' : `it is in ${folder}, where agents can write,`
  const why = hashes.has(agent.path) ? 'it has changed since you trusted it' : `${place} and is not trusted yet`
  return withNote(agent, { status: 'untrusted' }, why, `read it, then: heddle agents trust ${agent.path}`)
}

function shadowed(agent: Agent, winner: Agent): Agent {
  const why = `${agent.path} is shadowed by ${winner.path} (same name)`
  return withNote(agent, { shadowedBy: winner.path }, why, 'rename one of them')
}

function withNote(agent: Agent, change: Partial<Agent>, message: string, remedy: string): Agent {
  const diagnostic: AgentDiagnostic = { ...noteFinding(message, remedy), path: agent.path }
  return { ...agent, ...change, diagnostics: [diagnostic, ...agent.diagnostics] }
}
