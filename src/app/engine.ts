import type { FileSearch } from '../api/views/memory.ts'
import type { Config } from '../config/config.ts'
import type { Model } from '../domain/model.ts'
import { nothingProtected, type ProtectedPlaces } from '../domain/tools/path-handle.ts'
import type { Tool } from '../domain/tools/tool.ts'
import { cronTool } from '../engine/jobs/cron-tool.ts'
import { memoryTools } from '../engine/knowledge/memory-tools.ts'
import { narrativeTools } from '../engine/knowledge/narrative-tools.ts'
import type { PromptParts } from '../engine/model/prompt.ts'
import { delegate } from '../engine/plans/delegate-tool.ts'
import { planTasks } from '../engine/plans/plan-tasks.ts'
import { projectTools } from '../engine/plans/project-tools.ts'
import { listAgentsTool, readResult } from '../engine/plans/result-tools.ts'
import { spawnAgent } from '../engine/plans/spawn-agent.ts'
import { sessionsSpawn } from '../engine/plans/spawn-tool.ts'
import { agentsList, subagentsTool } from '../engine/plans/subagents-tool.ts'
import { KnownRegistry } from '../engine/policies/run-policies.ts'
import { KnownPaths } from '../engine/run/context/known-paths.ts'
import type { AgentIndex, Engine, Runtime } from '../engine/runtime.ts'
import { rehearsalName } from '../rehearsal/rehearsal.ts'
import { systemTimezone } from '../system.ts'
import { safeFetch } from '../tools/fetch/safe-fetch.ts'
import { fileTools } from '../tools/files/file-tools.ts'
import { webFetch } from '../tools/web-fetch.ts'
import { addExec } from './engine/exec.ts'
import { limitsOf, subagentSettings } from './engine/limits.ts'
import { modelIndex } from './engine/model-index.ts'
import { prompts } from './engine/prompts.ts'
import { runMoments } from './moments.ts'
import { askFirst } from './permission-names.ts'

interface EngineSettings {
  config: Pick<
    Config,
    | 'models'
    | 'allowedModels'
    | 'agent'
    | 'agents'
    | 'engine'
    | 'budgets'
    | 'tools'
    | 'scheduling'
    | 'plans'
    | 'memory'
    | 'credentials'
    | 'cron'
  >
  models?: Model[]
  tools?: Tool[]
  /** Agents besides the built-in ones. */
  agents?: AgentIndex
  /** Files that the user wrote for the agents. */
  identityFiles?(): Promise<PromptParts['files']>
  /** Search over the user's other files in the home, if it is on. */
  fileSearch?: FileSearch | undefined
  /** Identity of the home among those that share its database; empty where it has it for itself. */
  home?: string
  /** Places that the runtime trusts: no tool changes them. */
  protect?: ProtectedPlaces
  /** Directory of records about files that commands of a killed process may have left behind. */
  guardRecords?: string
  /** File that keeps the proof of the sandbox. */
  sandboxProof?: string
  tell?(text: string): void
  /** Slows rehearsal down for a watching user. */
  paced?: boolean
  env: NodeJS.ProcessEnv
}

/** Engine with a one-time setup. */
export interface AppEngine extends Engine {
  /** Who chooses the agent of a message that names none. */
  routing: Config['agent']['routing']
  /** Must resolve before the first claim; detects the sandbox once. */
  prepare(): Promise<void>
}

const noAgents: AgentIndex = { find: () => undefined, list: () => [] }

/** The engine that the owner's configuration asks for. */
export function engineOf(
  runtime: Runtime,
  context: Pick<Engine, 'crash' | 'live' | 'observeCall'>,
  {
    config,
    models = [],
    tools = [],
    agents = noAgents,
    identityFiles = async () => [],
    fileSearch,
    home = '',
    protect = nothingProtected,
    guardRecords,
    sandboxProof,
    tell,
    paced = false,
    env,
  }: EngineSettings,
): AppEngine {
  const known = new Map([...fileTools(runtime.clock), webFetch, ...tools].map((tool) => [tool.name, tool]))
  let prepared: Promise<void> | undefined
  const engine: AppEngine = {
    ...runtime,
    paths: new KnownPaths(),
    registry: new KnownRegistry(),
    moments: runMoments,
    ...context,
    tools: known,
    agents,
    defaultAgent: config.agent.default.replace(/^@/, ''),
    routing: config.agent.routing,
    scheduling: config.scheduling,
    memory: { recall: config.memory.recall, files: fileSearch !== undefined, home },
    protect,
    network: safeFetch({ clock: runtime.clock, allow: config.tools.fetch.allow }),
    allowedOrigins: config.tools.fetch.allow.map((origin) => new URL(origin).origin),
    policy: {
      ...(config.tools.allow && { allow: config.tools.allow }),
      deny: config.tools.deny,
      ask: askFirst(
        config.tools,
        tools.map(({ name }) => name),
      ),
      maxSpawnDepth: config.tools.subagents.maxSpawnDepth,
      subagents: config.tools.subagents.tools,
      programTools: [],
      // Rehearsal is a script, not a model: it costs nothing and sends nothing.
      ...(config.allowedModels && { models: [...new Set([...config.allowedModels, rehearsalName])] }),
    },
    ...prompts(runtime, identityFiles, agents),
    prepare() {
      prepared ??= addExec(known, {
        ...{ config, clock: runtime.clock, crash: context.crash, env, guardRecords, sandboxProof, tell },
      })
      return prepared
    },
    limits: limitsOf(config),
    fallbacks: config.agent.fallbacks,
    ...modelIndex({ config, models, clock: runtime.clock, paced }),
  }
  const subagents = subagentSettings(config)
  const delegating = [
    sessionsSpawn(engine, subagents),
    subagentsTool(engine),
    agentsList(engine, subagents),
    spawnAgent(engine),
    delegate(engine),
    planTasks(engine),
    ...projectTools(engine, config),
    readResult(engine),
    listAgentsTool(engine),
    ...memoryTools(runtime, { maxMemories: config.memory.most, files: fileSearch }),
    ...narrativeTools(runtime),
    cronTool(engine, () => config.cron.timezone ?? systemTimezone()),
  ] as Tool[]
  for (const tool of delegating) known.set(tool.name, tool)
  // A tool of ours takes the place of a program's with the same name.
  engine.policy.programTools = tools.filter((tool) => known.get(tool.name) === tool).map(({ name }) => name)
  return engine
}
