import { makeModel } from './app-models.ts'
import type { Config } from './config/config.ts'
import { HeddleError } from './domain/errors.ts'
import type { Model } from './domain/model.ts'
import { nearest } from './domain/nearest.ts'
import { isAllowed, isNamed } from './domain/permission.ts'
import type { Tool } from './domain/tool.ts'
import { type PromptParts, systemPrompt } from './engine/prompt.ts'
import { sessionsSpawn } from './engine/spawn-tool.ts'
import type { Engine, World } from './engine/world.ts'
import { rehearsal, rehearsalName } from './models/rehearsal/rehearsal.ts'
import { safeFetch } from './tools/fetch/safe-fetch.ts'
import { fileTools } from './tools/file-tools.ts'
import { execTool } from './tools/sandbox/exec-tool.ts'
import { webFetch } from './tools/web-fetch.ts'

const usualPromptBytes = 4000
const pace = { shortest: 150, longest: 400 }

export interface EngineSettings {
  config: Pick<Config, 'models' | 'agent' | 'agents' | 'engine' | 'budgets' | 'tools'>
  models?: Model[]
  tools?: Tool[]
  /** What the owner wrote for the agents. */
  identityFiles?(): Promise<PromptParts['files']>
  /** Folders that no tool gets into. */
  offLimits?: readonly string[]
  /** Someone watches: the script that stands in for a model takes its time. */
  paced?: boolean
  env: NodeJS.ProcessEnv
}

/** An engine that is asked, before it runs anything, to find out what can be run here. */
export interface AppEngine extends Engine {
  /** Must have resolved before a run is claimed. Finds out once. */
  prepare(): Promise<void>
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
    identityFiles = async () => [],
    offLimits = [],
    paced = false,
    env,
  }: EngineSettings,
): AppEngine {
  const given = new Map(models.map((model) => [model.name, model]))
  const made = new Map<string, Model>()
  let promptBytes = usualPromptBytes
  const spawn = sessionsSpawn(world, {
    children: config.tools.subagents.maxChildrenPerAgent,
    knowsModel: (name) => given.has(name) || Object.hasOwn(config.models, name),
  })
  const known = new Map([...fileTools(world.clock), webFetch, ...tools, spawn].map((tool) => [tool.name, tool]))
  let prepared: Promise<void> | undefined
  return {
    ...world,
    crash,
    live,
    tools: known,
    offLimits,
    network: safeFetch({ clock: world.clock, allow: config.tools.fetch.allow }),
    // A child starts others only below the configured depth; the tool does not exist for it otherwise.
    toolsFor: ({ depth }, persona) =>
      [...known.keys()].filter(
        (name) =>
          (name !== spawn.name || depth < config.tools.subagents.maxSpawnDepth) &&
          isAllowed(name, config.tools) &&
          isAllowed(name, persona?.permissions.tools ?? {}),
      ),
    mustAsk(tool, persona) {
      if (isNamed(tool, config.tools.ask ?? usualAsk(config.tools.exec))) return `${tool} asks first (tools.ask)`
      return isNamed(tool, persona?.permissions.tools.ask ?? [])
        ? `${tool} asks first for ${persona?.identity.name}`
        : undefined
    },
    async prompt({ depth, effectiveTools }, persona) {
      const files = await identityFiles()
      const text = systemPrompt({
        identity: persona?.identity ?? null,
        isChild: depth > 0,
        files,
        tools: effectiveTools,
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

  /** Commands are run only where a sandbox holds, or the owner wants none. A tool of that name may be given as well. */
  async function addExec(): Promise<void> {
    if (known.has('exec') || !isAllowed('exec', config.tools)) return
    const found = await execTool(config.tools.exec, { clock: world.clock, env })
    if ('tool' in found) known.set(found.tool.name, found.tool)
  }

  function standIn(): Model {
    return rehearsal({ clock: world.clock, ...(paced && { pace }) })
  }

  function configured(name: string): Model {
    const settings = config.models[name]
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
