import type { Config } from '../../config/config.ts'
import type { SubagentSettings } from '../../engine/plans/subagent-targets.ts'
import type { Engine } from '../../engine/runtime.ts'

const maxBackgroundRuns = 2

/** Limits of runs: those of the configuration, and fixed ones without a setting. */
export function limitsOf(config: Pick<Config, 'agents' | 'engine' | 'budgets' | 'tools' | 'cron'>): Engine['limits'] {
  return {
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
  }
}

/** Merges the configuration's two sections about sub-agents. */
export function subagentSettings({
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
