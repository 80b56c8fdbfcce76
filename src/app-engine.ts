import { makeModel } from './app-models.ts'
import type { Config } from './config/config.ts'
import { HeddleError } from './domain/errors.ts'
import type { FileSearch } from './domain/memory-views.ts'
import type { Model } from './domain/model.ts'
import { nearest } from './domain/nearest.ts'
import { nothingProtected, type ProtectedPlaces } from './domain/path-handle.ts'
import { isAllowed, isNamed, type NameLists } from './domain/permission.ts'
import type { Run } from './domain/run.ts'
import type { Tool } from './domain/tool.ts'
import { isMemoryWriter } from './domain/tool-names.ts'
import { KnownPaths } from './engine/known-paths.ts'
import { memoryTools } from './engine/memory-tools.ts'
import { narrativeTools } from './engine/narrative-tools.ts'
import { planTasks } from './engine/plan-tasks.ts'
import { projectTools } from './engine/project-tools.ts'
import { type PromptParts, systemPrompt } from './engine/prompt.ts'
import { listAgents, readResult } from './engine/result-tools.ts'
import { type Role, readsOn, roleOf, toolsOf } from './engine/role.ts'
import { spawnAgent } from './engine/spawn-agent.ts'
import { sessionsSpawn } from './engine/spawn-tool.ts'
import type { AgentIndex, Engine, World } from './engine/world.ts'
import { rehearsal, rehearsalName } from './models/rehearsal/rehearsal.ts'
import { safeFetch } from './tools/fetch/safe-fetch.ts'
import { fileTools } from './tools/file-tools.ts'
import { execTool } from './tools/sandbox/exec-tool.ts'
import { webFetch } from './tools/web-fetch.ts'

const usualPromptBytes = 4000
const pace = { shortest: 150, longest: 400 }

export interface EngineSettings {
  config: Pick<
    Config,
    'models' | 'agent' | 'agents' | 'engine' | 'budgets' | 'tools' | 'scheduling' | 'plans' | 'memory'
  >
  models?: Model[]
  tools?: Tool[]
  /** Everyone who can be given work besides those that are built in. */
  agents?: AgentIndex
  /** What the owner wrote for the agents. */
  identityFiles?(): Promise<PromptParts['files']>
  /** What the owner wrote into the home besides, where it is to be found. */
  fileSearch?: FileSearch | undefined
  /** What the runtime trusts: no tool changes it. */
  protect?: ProtectedPlaces
  /** Where it is written down what commands of a killed process could leave behind. */
  guardRecords?: string
  tell?(text: string): void
  /** Someone watches: the script that stands in for a model takes its time. */
  paced?: boolean
  env: NodeJS.ProcessEnv
}

/** An engine that is asked, before it runs anything, to find out what can be run here. */
export interface AppEngine extends Engine {
  /** Must have resolved before a run is claimed. Finds out once. */
  prepare(): Promise<void>
}

const nobody: AgentIndex = { find: () => undefined, list: () => [] }

/** Lists of what may be used are about work: whoever only delegates or reads on is bound by what is denied. */
function listsFor({ kind }: Role, tool: string, { allow, deny }: NameLists): NameLists {
  return { ...(deny && { deny }), ...(allow && kind !== 'coordinator' && tool !== readsOn && { allow }) }
}

function isChild({ depth, parentRunId }: Run): boolean {
  return depth > 0 || parentRunId !== null
}

/** What a child may have of its parent: what that one has, and of one that only delegates everything it may delegate. */
function mayHandOn(parent: Run, tool: string): boolean {
  return parent.effectiveTools.includes('spawn_agent') || parent.effectiveTools.includes(tool)
}

/** What asks first where the owner has not said: writing, and commands that could reach more than the folder. */
function usualAsk({ sandbox, network }: Config['tools']['exec']): string[] {
  return ['write_file', 'edit_file', ...(sandbox === 'off' || network ? ['exec'] : [])]
}

/** The engine that the owner's configuration asks for. */
export function engineOf(
  world: World,
  { crash, live }: Pick<Engine, 'crash' | 'live'>,
  {
    config,
    models = [],
    tools = [],
    agents = nobody,
    identityFiles = async () => [],
    fileSearch,
    protect = nothingProtected,
    guardRecords,
    tell,
    paced = false,
    env,
  }: EngineSettings,
): AppEngine {
  const given = new Map(models.map((model) => [model.name, model]))
  const made = new Map<string, Model>()
  let promptBytes = usualPromptBytes
  const knowsModel = (name: string) => given.has(name) || Object.hasOwn(config.models, name)
  const spawn = sessionsSpawn(world, { children: config.tools.subagents.maxChildrenPerAgent, knowsModel })
  const known = new Map([...fileTools(world.clock), webFetch, ...tools, spawn].map((tool) => [tool.name, tool]))
  let prepared: Promise<void> | undefined
  const engine: AppEngine = {
    ...world,
    paths: new KnownPaths(),
    crash,
    live,
    tools: known,
    agents,
    defaultAgent: config.agent.default.replace(/^@/, ''),
    scheduling: config.scheduling,
    memory: { recall: config.memory.recall, files: fileSearch !== undefined },
    protect,
    network: safeFetch({ clock: world.clock, allow: config.tools.fetch.allow }),
    // One intersection, here and nowhere else: the role's tools, what the parent could hand on, and everybody's policy.
    toolsFor(run, { persona, folder, parent }) {
      const role = roleOf(engine, run, folder)
      return toolsOf(role, [...known.keys()]).filter(
        (name) =>
          // A child starts others only below the configured depth; the tool does not exist for it otherwise.
          (name !== spawn.name || run.depth < config.tools.subagents.maxSpawnDepth) &&
          // A child of any kind writes no memory and no narrative: only who talks with a person does.
          !(isChild(run) && isMemoryWriter(name)) &&
          isAllowed(name, listsFor(role, name, config.tools)) &&
          isAllowed(name, listsFor(role, name, persona?.permissions.tools ?? {})) &&
          (parent === undefined || mayHandOn(parent, name)),
      )
    },
    mustAsk(tool, run, { persona, folder }) {
      if (isNamed(tool, config.tools.ask ?? usualAsk(config.tools.exec))) return `${tool} asks first (tools.ask)`
      if (isNamed(tool, persona?.permissions.tools.ask ?? [])) return `${tool} asks first for ${persona?.identity.name}`
      const role = roleOf(engine, run, folder)
      return role.kind === 'worker' && isNamed(tool, role.agent.ask)
        ? `${tool} asks first for @${role.agent.name}: its file limits it`
        : undefined
    },
    async prompt(run, { persona, folder }) {
      const files = await identityFiles()
      const role = roleOf(engine, run, folder)
      // Looking at the files costs something: only whoever gives work needs to know who is there.
      const givesWork = role.kind === 'coordinator' || run.effectiveTools.includes('plan_tasks')
      const text = systemPrompt({
        role,
        identity: persona?.identity ?? null,
        isChild: run.depth > 0,
        files,
        tools: run.effectiveTools,
        agents: givesWork ? agents.list(folder) : [],
      })
      promptBytes = Buffer.byteLength(text)
      return text
    },
    promptBytes: () => promptBytes,
    prepare() {
      prepared ??= addExec()
      return prepared
    },
    limits: {
      maxRunning: config.engine.maxRunning,
      maxChildren: config.agents.maxConcurrent,
      leaseMs: config.engine.leaseSeconds * 1000,
      maxSteps: config.budgets.perRequest.steps,
      maxSpawnsPerTurn: config.tools.subagents.maxPerTurn,
      maxTries: 5,
      maxCrashes: 3,
      timeoutMs: config.agents.defaultTimeout * 1000,
      maxOutputTokens: 8192,
      perRequest: { usd: config.budgets.perRequest.usd, tokens: config.budgets.perRequest.tokens },
      perDayUsd: config.budgets.perDay.usd,
    },
    fallbacks: config.agent.fallbacks,
    model(asked) {
      // A script stands in only while nobody has chosen a model, or where it was chosen itself.
      const name = asked ?? config.agent.model ?? models[0]?.name ?? rehearsalName
      const known = given.get(name) ?? made.get(name)
      if (known) return known
      const model = name === rehearsalName ? standIn() : configured(name)
      made.set(name, model)
      return model
    },
  }
  const delegating = [
    spawnAgent(engine, { knowsModel }),
    planTasks(world, agents),
    ...projectTools(engine, config),
    readResult(world),
    listAgents(world, agents),
    ...memoryTools(world, { most: config.memory.most, files: fileSearch }),
    ...narrativeTools(world),
  ] as Tool[]
  for (const tool of delegating) known.set(tool.name, tool)
  return engine

  /** Commands are run only where a sandbox holds, or the owner wants none. A tool of that name may be given as well. */
  async function addExec(): Promise<void> {
    if (known.has('exec') || !isAllowed('exec', config.tools)) return
    const found = await execTool(config.tools.exec, {
      clock: world.clock,
      env,
      crash,
      ...(guardRecords !== undefined && { guardRecords }),
    })
    if (!('tool' in found)) return
    known.set(found.tool.name, found.tool)
    for (const { folder, path, to } of found.leftBehind ?? [])
      tell?.(`a killed command had left ${path} in ${folder}: it is now ${to}    heddle git`)
  }

  function standIn(): Model {
    return rehearsal({ clock: world.clock, ...(paced && { pace }) })
  }

  function configured(name: string): Model {
    const settings = Object.hasOwn(config.models, name) ? config.models[name] : undefined
    if (!settings) throw unknownModel(name, [...given.keys(), ...Object.keys(config.models)])
    return makeModel(name, settings, world.clock)
  }
}

function unknownModel(name: string, known: string[]): HeddleError {
  const close = nearest(name, known)
  return new HeddleError(
    'model_unknown',
    `there is no model "${name}"`,
    close ? `did you mean ${close}?` : 'heddle models lists them',
  )
}
