import type { Config } from '../config/config.ts'
import type { Engine } from '../engine/runtime.ts'

const maxCronRuns = 4
const maxBackgroundRuns = 2

/** Limits of runs: those of the configuration, and those that nobody has needed to change. */
export function limitsOf(config: Pick<Config, 'agents' | 'engine' | 'budgets' | 'tools'>): Engine['limits'] {
  return {
    maxRunning: config.engine.maxRunning,
    lanes: {
      main: config.engine.maxRunning,
      agents: config.agents.maxConcurrent,
      subagents: config.tools.subagents.maxConcurrent,
      cron: maxCronRuns,
      background: maxBackgroundRuns,
    },
    leaseMs: config.engine.leaseSeconds * 1000,
    maxSteps: config.budgets.perRequest.steps,
    maxSpawnsPerTurn: config.tools.subagents.maxPerTurn,
    maxTries: 5,
    maxCrashes: 3,
    timeoutMs: config.agents.defaultTimeout * 1000,
    maxOutputTokens: 8192,
    perRequest: { usd: config.budgets.perRequest.usd, tokens: config.budgets.perRequest.tokens },
    perDayUsd: config.budgets.perDay.usd,
  }
}
