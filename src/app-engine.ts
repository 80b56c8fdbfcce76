import { makeModel } from './app-models.ts'
import type { Config } from './config/config.ts'
import { HeddleError } from './domain/errors.ts'
import type { Model } from './domain/model.ts'
import { nearest } from './domain/nearest.ts'
import { isAllowed } from './domain/permission.ts'
import type { Tool } from './domain/tool.ts'
import { type PromptParts, systemPrompt } from './engine/prompt.ts'
import { sessionsSpawn } from './engine/spawn-tool.ts'
import type { Engine, World } from './engine/world.ts'

const usualPromptBytes = 4000

export interface EngineSettings {
  config: Pick<Config, 'models' | 'agent' | 'agents' | 'engine' | 'budgets' | 'tools'>
  models?: Model[]
  tools?: Tool[]
  /** What the owner wrote for the agents. */
  identityFiles?(): Promise<PromptParts['files']>
}

/** The engine that the owner's configuration asks for. */
export function engineOf(
  world: World,
  { crash, live }: Pick<Engine, 'crash' | 'live'>,
  { config, models = [], tools = [], identityFiles = async () => [] }: EngineSettings,
): Engine {
  const given = new Map(models.map((model) => [model.name, model]))
  const made = new Map<string, Model>()
  let promptBytes = usualPromptBytes
  const spawn = sessionsSpawn(world, {
    children: config.tools.subagents.maxChildrenPerAgent,
    knowsModel: (name) => given.has(name) || Object.hasOwn(config.models, name),
  })
  const known = new Map([...tools, spawn].map((tool) => [tool.name, tool]))
  return {
    ...world,
    crash,
    live,
    tools: known,
    // A child starts others only below the configured depth; the tool does not exist for it otherwise.
    toolsFor: ({ depth }, persona) =>
      [...known.keys()].filter(
        (name) =>
          (name !== spawn.name || depth < config.tools.subagents.maxSpawnDepth) &&
          isAllowed(name, config.tools) &&
          isAllowed(name, persona?.permissions.tools ?? {}),
      ),
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
      const name = asked ?? config.agent.model ?? models[0]?.name
      if (name === undefined) throw noModel()
      const known = given.get(name) ?? made.get(name)
      if (known) return known
      const settings = config.models[name]
      if (!settings) throw unknownModel(name, [...given.keys(), ...Object.keys(config.models)])
      const model = makeModel(name, settings, world.clock)
      made.set(name, model)
      return model
    },
  }
}

function noModel(): HeddleError {
  return new HeddleError('no_model', 'no model is configured', 'add one: heddle models add')
}

function unknownModel(name: string, known: string[]): HeddleError {
  const close = nearest(name, known)
  return new HeddleError(
    'model_unknown',
    `there is no model "${name}"`,
    close ? `did you mean ${close}?` : 'heddle models lists them',
  )
}
