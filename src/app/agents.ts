import { copyFileSync, existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentDirectory } from '../agents/agent-directory.ts'
import { type Agents, agentsOf } from '../agents/agents.ts'
import { recordWorkFolders, workFolderRecorder, workFoldersIn } from '../agents/work-folders.ts'
import type { AgentNames } from '../config/check.ts'
import { type Config, expandFolder } from '../config/config.ts'
import { rehearsal } from '../config/schema.ts'
import { type Agent, builtInAgents, isLive } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { AgentLookup } from '../engine/run/check-input.ts'
import type { AgentIndex } from '../engine/runtime.ts'
import type { HomePaths } from '../home/home.ts'
import { packageRoot } from '../package-root.ts'

export { agentName } from '../agents/agent-name.ts'
export { agentTemplate } from '../agents/agent-template.ts'
export type { Agents } from '../agents/agents.ts'

export interface HomeAgentsSettings {
  paths: Pick<HomePaths, 'home' | 'skills'>
  config: Pick<Config, 'skills'> & { models: Readonly<Record<string, unknown>> }
  clock: Pick<Clock, 'now'>
  /** Tools besides ours. */
  tools?: readonly string[]
  /** Names of models besides those of the configuration. */
  models?: readonly string[]
}

/** The agents of a home: the owner's own, those of the directories that the configuration names, and ours. */
export function openAgents({ paths, config, clock, tools = [], models = [] }: HomeAgentsSettings): Agents {
  const directories: AgentDirectory[] = [
    { path: paths.skills, source: 'home' },
    { path: join(paths.home, 'agents'), source: 'home' },
    ...config.skills.map((path): AgentDirectory => ({ path, source: 'config', mustExist: true })),
    { path: builtIn(), source: 'built-in', mustExist: true },
  ]
  return agentsOf({ directories, ...filesOf(paths), clock, models: [...modelNames(config), ...models], tools })
}

/** Agents that can be given work, and why others cannot. */
export interface AppAgents extends AgentIndex, Pick<Agents, 'look'> {
  askable(folder?: string): AgentLookup
}

/** The agents of an opened home, with the names of tools and models that a program adds. */
export function openAppAgents(
  { paths, config, tools = [], models = [] }: AgentSettings,
  clock: Pick<Clock, 'now'>,
): AppAgents {
  const names = (list: readonly { name: string }[]) => list.map(({ name }) => name)
  const agents = openAgents({ paths, config, clock, tools: names(tools), models: names(models) })
  const list = oncePerTurn(agents.list)
  const cannotWork = ({ status }: Agent) => status === 'broken' || status === 'untrusted'
  return {
    find: oncePerTurn(agents.find),
    look: agents.look,
    list: (folder) => list(folder).filter(isLive),
    askable: (folder) => ({
      names: () => answeringNames(agents, folder),
      unusable: (name) => agents.list(folder).find((agent) => agent.name === name && cannotWork(agent)),
    }),
  }
}

/** Calls a function once per turn of the event loop for the same arguments: many children of one request ask together. */
function oncePerTurn<A extends (string | undefined)[], R>(call: (...args: A) => R): (...args: A) => R {
  const answers = new Map<string, R>()
  return (...args) => {
    const key = JSON.stringify(args)
    if (answers.size === 0) setImmediate(() => answers.clear())
    if (!answers.has(key)) answers.set(key, call(...args))
    return answers.get(key) as R
  }
}

interface AgentSettings extends Pick<HomeAgentsSettings, 'paths' | 'config'> {
  tools?: readonly { name: string }[]
  models?: readonly { name: string }[]
}

/** Names of everyone who can answer in a folder, those that are there without a file included. */
function answeringNames(agents: Agents, folder?: string): string[] {
  return [...builtInAgents, ...agents.list(folder).filter(isLive)].map(({ name }) => name)
}

/** Names of the agents that settings would make available in a folder. */
export function agentNamesFor({
  paths,
  folder,
  clock,
  userHome,
}: Pick<HomeAgentsSettings, 'paths' | 'clock'> & { folder: string; userHome: string }): AgentNames {
  return ({ skills, models: { allow: _, ...models } }) => {
    const config = { skills: skills.map((each) => expandFolder(each, userHome)), models }
    return answeringNames(openAgents({ paths, config, clock }), folder)
  }
}

/** Agents of any directories, as if the owner had named them; nothing becomes trusted by that. */
export function agentsInDirectories(
  directories: readonly string[],
  { paths, config, clock }: HomeAgentsSettings,
): Agents {
  return agentsOf({
    directories: directories.map((path) => ({ path, source: 'config', mustExist: true })),
    ...filesOf(paths),
    clock,
    models: modelNames(config),
  })
}

/** Records folders before agents work in them: from then on an agent's file that lies there needs trust everywhere. */
export function recordFolders({ home }: Pick<HomePaths, 'home'>, folders: readonly string[]): void {
  recordWorkFolders(workFoldersFile(home), folders)
}

/** Records folders one by one, as `recordFolders` does. */
export function folderRecorder(
  { home }: Pick<HomePaths, 'home'>,
  clock: HomeAgentsSettings['clock'],
): (folder: string) => void {
  return workFolderRecorder(workFoldersFile(home), clock)
}

/** Whether the folders of a home were ever recorded; a home of an earlier version has sessions and no records. */
export function hasRecordedFolders({ home }: Pick<HomePaths, 'home'>): boolean {
  return existsSync(workFoldersFile(home))
}

/** Copies the trust of another home into a new one, and trusts one copied agent file there. */
export function carryTrust({ home }: Pick<HomePaths, 'home'>, to: HomeAgentsSettings, copy: string): void {
  const [from, into] = [filesOf({ home }), filesOf(to.paths)]
  if (existsSync(from.trustFile)) copyFileSync(from.trustFile, into.trustFile)
  if (existsSync(from.workFoldersFile)) copyFileSync(from.workFoldersFile, into.workFoldersFile)
  const agents = openAgents(to)
  const copied = agents.list().find(({ path }) => path === realpathSync(copy))
  if (copied?.status === 'untrusted') agents.trust(copied)
}

/** Tells whether a run of this home could have written what lies at a real path. */
export function isInWorkFolder(home: string, clock: HomeAgentsSettings['clock']): (realPath: string) => boolean {
  const folders = workFoldersIn(workFoldersFile(home), clock)
  return (realPath) => folders().around(realPath) !== undefined
}

function modelNames({ models }: HomeAgentsSettings['config']): string[] {
  return [...Object.keys(models), rehearsal]
}

function filesOf({ home }: Pick<HomePaths, 'home'>) {
  return { trustFile: join(home, 'trusted-agents.json'), workFoldersFile: workFoldersFile(home) }
}

function workFoldersFile(home: string): string {
  return join(home, 'work-folders.jsonl')
}

function builtIn(): string {
  return join(packageRoot, 'agents')
}
