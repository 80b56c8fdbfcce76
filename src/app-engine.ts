import type { Config, NamedModel } from './config/config.ts'
import type { Clock } from './domain/clock.ts'
import { HeddleError } from './domain/errors.ts'
import type { Model } from './domain/model.ts'
import { nearest } from './domain/nearest.ts'
import type { Tool } from './domain/tool.ts'
import { sessionsSpawn } from './engine/spawn-tool.ts'
import type { Engine, World } from './engine/world.ts'
import { openAiCompatible } from './models/openai-compatible.ts'
import { fileTools } from './tools/file-tools.ts'
import { permitted } from './tools/permitted.ts'

const usualWindow = 32_768
const idleTimeout = 120_000
const totalTimeout = 600_000
const prompt = 'You are a helpful agent. Answer briefly and truthfully; say so when you do not know.'

export interface EngineSettings {
  config: Pick<Config, 'models' | 'agent' | 'agents' | 'engine' | 'budgets' | 'tools'>
  models?: Model[]
  tools?: Tool[]
}

/** The engine that the owner's configuration asks for. */
export function engineOf(
  world: World,
  { crash, live }: Pick<Engine, 'crash' | 'live'>,
  { config, models = [], tools = [] }: EngineSettings,
): Engine {
  const given = new Map(models.map((model) => [model.name, model]))
  const made = new Map<string, Model>()
  const spawn = sessionsSpawn(world, {
    children: config.tools.subagents.maxChildrenPerAgent,
    knowsModel: (name) => given.has(name) || Object.hasOwn(config.models, name),
  })
  const known = new Map([...fileTools(world.clock), ...tools, spawn].map((tool) => [tool.name, tool]))
  const allowed = permitted([...known.keys()], config.tools)
  return {
    ...world,
    crash,
    live,
    systemPrompt: prompt,
    tools: known,
    // A child starts others only below the configured depth; the tool does not exist for it otherwise.
    toolsFor: ({ depth }) =>
      allowed.filter((name) => name !== spawn.name || depth < config.tools.subagents.maxSpawnDepth),
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

function makeModel(name: string, settings: NamedModel, clock: Clock): Model {
  const { provider, model, baseURL, apiKey, contextWindow, price } = settings
  if (provider !== 'openai-compatible' || baseURL === undefined)
    throw new HeddleError(
      'provider_missing',
      `the provider ${provider} of model "${name}" is not built yet`,
      'use provider: openai-compatible with a baseURL',
    )
  const key = apiKey?.reveal()
  return openAiCompatible(
    {
      name,
      model,
      baseURL,
      ...(key !== undefined && { apiKey: key }),
      window: contextWindow ?? usualWindow,
      price: price ?? { input: 0, output: 0 },
      idleTimeout,
      totalTimeout,
    },
    clock,
  )
}

function noModel(): HeddleError {
  return new HeddleError(
    'no_model',
    'no model is configured',
    'add one to `models` in heddle.yaml: heddle config edit; docs/guide/config.md shows how',
  )
}

function unknownModel(name: string, known: string[]): HeddleError {
  const close = nearest(name, known)
  return new HeddleError(
    'model_unknown',
    `there is no model "${name}"`,
    close ? `did you mean ${close}?` : 'heddle config get models lists them',
  )
}
