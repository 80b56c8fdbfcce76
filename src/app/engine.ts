import type { FileSearch } from '../api/views/memory.ts'
import type { Config } from '../config/config.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { nearest } from '../domain/text/nearest.ts'
import { nothingProtected, type ProtectedPlaces } from '../domain/tools/path-handle.ts'
import { isAllowed } from '../domain/tools/permission.ts'
import type { Tool } from '../domain/tools/tool.ts'
import { cronTool } from '../engine/jobs/cron-tool.ts'
import { memoryTools } from '../engine/knowledge/memory-tools.ts'
import { narrativeTools } from '../engine/knowledge/narrative-tools.ts'
import { type PromptParts, systemPrompt } from '../engine/model/prompt.ts'
import { planTasks } from '../engine/plans/plan-tasks.ts'
import { projectTools } from '../engine/plans/project-tools.ts'
import { listAgents, readResult } from '../engine/plans/result-tools.ts'
import { spawnAgent } from '../engine/plans/spawn-agent.ts'
import { sessionsSpawn } from '../engine/plans/spawn-tool.ts'
import type { SubagentSettings } from '../engine/plans/subagent-targets.ts'
import { agentsList, subagentsTool } from '../engine/plans/subagents-tool.ts'
import { KnownPaths } from '../engine/run/context/known-paths.ts'
import { readSubagentBrief } from '../engine/run/subagent-brief.ts'
import type { AgentIndex, Engine, Runtime } from '../engine/runtime.ts'
import { rehearsalModel, rehearsalName } from '../rehearsal/rehearsal.ts'
import { systemTimezone } from '../system.ts'
import { execTool } from '../tools/exec/sandbox/exec-tool.ts'
import { safeFetch } from '../tools/fetch/safe-fetch.ts'
import { fileTools } from '../tools/files/file-tools.ts'
import { webFetch } from '../tools/web-fetch.ts'
import { makeModel } from './models.ts'
import { runMoments } from './moments.ts'
import { askFirst } from './permission-names.ts'

const defaultPromptBytes = 4000
const maxBackgroundRuns = 2
const pace = { shortest: 150, longest: 400 }

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
  tell?(text: string): void
  /** Slows rehearsal down for a watching user. */
  paced?: boolean
  env: NodeJS.ProcessEnv
}

/** Engine with a one-time setup. */
export interface AppEngine extends Engine {
  /** Must resolve before the first claim; detects the sandbox once. */
  prepare(): Promise<void>
}

const noAgents: AgentIndex = { find: () => undefined, list: () => [] }

/** The engine that the owner's configuration asks for. */
export function engineOf(
  runtime: Runtime,
  { crash, live }: Pick<Engine, 'crash' | 'live'>,
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
    tell,
    paced = false,
    env,
  }: EngineSettings,
): AppEngine {
  const given = new Map(models.map((model) => [model.name, model]))
  const made = new Map<string, Model>()
  /** Estimated prompt size of the next run, by agent. */
  const promptBytes = new Map<string, number>()
  const known = new Map([...fileTools(runtime.clock), webFetch, ...tools].map((tool) => [tool.name, tool]))
  let prepared: Promise<void> | undefined
  const engine: AppEngine = {
    ...runtime,
    paths: new KnownPaths(),
    moments: runMoments,
    crash,
    live,
    tools: known,
    agents,
    defaultAgent: config.agent.default.replace(/^@/, ''),
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
      ...(config.allowedModels && { models: [...config.allowedModels, rehearsalName] }),
    },
    async prompt({ run, session: { folder }, actor: { role, persona, access }, threadPrompt }) {
      const files = await identityFiles()
      const subagent = run.subagent ? await runtime.store.read((rows) => readSubagentBrief(rows, run)) : undefined
      // Reading agent files has a cost: only runs that delegate need the list.
      const givesWork = role.kind === 'coordinator' || run.effectiveTools.includes('plan_tasks')
      const text = systemPrompt({
        role,
        identity: persona?.identity ?? null,
        isPrivate: access.isPrivate,
        isChild: run.depth > 0,
        files,
        tools: run.effectiveTools,
        threadPrompt,
        agents: givesWork ? agents.list(folder) : [],
        subagent,
      })
      promptBytes.set(run.agent ?? '', Buffer.byteLength(text) - Buffer.byteLength(threadPrompt ?? ''))
      return text
    },
    promptBytes: ({ agent }) => promptBytes.get(agent ?? '') ?? defaultPromptBytes,
    prepare() {
      prepared ??= addExec()
      return prepared
    },
    limits: {
      maxRunning: config.engine.maxRunning,
      lanes: {
        main: config.engine.maxRunning,
        agents: config.agents.maxConcurrent,
        subagents: config.tools.subagents.maxConcurrent,
        cron: config.cron.maxConcurrent,
        background: maxBackgroundRuns,
      },
      leaseMs: config.engine.leaseSeconds * 1000,
      maxSteps: config.budgets.perRequest.steps,
      maxSpawnsPerTurn: config.tools.subagents.maxPerTurn,
      archiveAfterMs: config.tools.subagents.archiveAfterMinutes * 60_000,
      maxTries: 5,
      maxCrashes: 3,
      timeoutMs: config.agents.defaultTimeout * 1000,
      maxOutputTokens: 8192,
      perRequest: { usd: config.budgets.perRequest.usd, tokens: config.budgets.perRequest.tokens },
      perDayUsd: config.budgets.perDay.usd,
    },
    // Rehearsal answers only if no model is configured, or if it was chosen itself.
    defaultModel: config.agent.model ?? models[0]?.name ?? rehearsalName,
    fallbacks: config.agent.fallbacks,
    knowsModel: (name) => given.has(name) || Object.hasOwn(config.models, name),
    model(name) {
      const known = given.get(name) ?? made.get(name)
      if (known) return known
      const model = name === rehearsalName ? standIn() : configured(name)
      made.set(name, model)
      return model
    },
  }
  const subagents = subagentSettings(config)
  const delegating = [
    sessionsSpawn(engine, subagents),
    subagentsTool(engine),
    agentsList(engine, subagents),
    spawnAgent(engine),
    planTasks(engine),
    ...projectTools(engine, config),
    readResult(engine),
    listAgents(runtime, agents),
    ...memoryTools(runtime, { maxMemories: config.memory.most, files: fileSearch }),
    ...narrativeTools(runtime),
    cronTool(engine, config.cron.timezone ?? systemTimezone()),
  ] as Tool[]
  for (const tool of delegating) known.set(tool.name, tool)
  // A tool of ours takes the place of a program's with the same name.
  engine.policy.programTools = tools.filter((tool) => known.get(tool.name) === tool).map(({ name }) => name)
  return engine

  /** Adds exec if the sandbox works or is turned off, unless the caller gave a tool of that name. */
  async function addExec(): Promise<void> {
    if (known.has('exec') || !isAllowed('exec', config.tools)) return
    const found = await execTool(config.tools.exec, {
      clock: runtime.clock,
      env,
      credentials: Object.fromEntries(Object.entries(config.credentials).map(([name, key]) => [name, key.reveal()])),
      crash,
      ...(guardRecords !== undefined && { guardRecords }),
    })
    if (!('tool' in found)) return
    known.set(found.tool.name, found.tool)
    for (const { folder, path, to } of found.leftBehind ?? [])
      tell?.(`an interrupted command left ${path} in ${folder}; renamed to ${to}    heddle git`)
  }

  function standIn(): Model {
    return rehearsalModel({ clock: runtime.clock, ...(paced && { pace }) })
  }

  function configured(name: string): Model {
    const settings = Object.hasOwn(config.models, name) ? config.models[name] : undefined
    if (!settings) throw unknownModel(name, [...given.keys(), ...Object.keys(config.models)])
    return makeModel(name, settings, runtime.clock)
  }
}

/** What the owner's two sections about sub-agents say together. */
function subagentSettings({
  tools: { subagents },
  agents: { defaults },
}: Pick<Config, 'tools' | 'agents'>): SubagentSettings {
  return {
    maxChildren: subagents.maxChildrenPerAgent,
    allowAgents: [subagents.allowAgents, defaults.subagents.allowAgents].filter((list) => list !== undefined),
    model: subagents.model ?? defaults.subagents.model,
    thinking: subagents.thinking,
    shareMode: subagents.memoryShareMode,
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
