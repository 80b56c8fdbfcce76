import type { App } from '../src/api/app.ts'
import type { AppSettings } from '../src/app/app.ts'
import { loadConfig } from '../src/config/config.ts'
import type { Model } from '../src/domain/model.ts'
import type { Tool } from '../src/domain/tools/tool.ts'
import { ensureHome, homePaths } from '../src/home/home.ts'
import { type OwnerApp, openOwnerApp } from '../test/setup/owner-app.ts'
import { folder } from './scratch.ts'
import { lookUp } from './zero-latency.ts'

export interface HomeSettings {
  home: string
  model: Model
  /** A server that homes share; without it the home has a SQLite file. */
  database?: string
  durability?: 'full' | 'normal'
  /** Who is spoken to. */
  agent?: '@general' | '@coordinator'
  /** Runs at the same time; children of one run, too. */
  atOnce?: number
  /** Tools besides the usual ones. */
  tools?: Tool[]
  crash?: NonNullable<AppSettings['context']>['crash']
}

/** Opens a whole heddle as its owner would have it, with budgets that nothing measured here can spend. */
export async function openHome({
  home,
  model,
  database,
  durability = 'full',
  agent = '@general',
  atOnce = 16,
  tools = [lookUp],
  crash,
}: HomeSettings): Promise<OwnerApp> {
  await ensureHome(home)
  const paths = homePaths(home)
  const config = await loadConfig(paths.config, {})
  return openOwnerApp({
    paths,
    config: {
      ...config,
      agent: { ...config.agent, default: agent },
      durability,
      ...(database !== undefined && { database }),
      // A call that nobody waits for, and that no peer makes: it would only be noise here.
      memory: { ...config.memory, narratives: false },
      engine: { ...config.engine, maxRunning: atOnce },
      agents: { ...config.agents, maxConcurrent: atOnce },
      budgets: { ...config.budgets, perRequest: { usd: 1e6, tokens: 1e12, steps: 1e6 }, perDay: { usd: 1e6 } },
      tools: {
        ...config.tools,
        subagents: {
          ...config.tools.subagents,
          maxConcurrent: atOnce,
          maxChildrenPerAgent: Math.max(atOnce, 5),
          maxPerTurn: Math.max(atOnce, 12),
        },
      },
    },
    env: {},
    models: [model],
    tools,
    ...(crash && { context: { crash } }),
  })
}

/** One turn as a user lives it: from the question to its answer. */
export async function ask(app: App, session: string, content: string): Promise<void> {
  const { itemId } = await app.submit(folder, { session, content })
  const answered = await app.answer(folder, itemId, new AbortController().signal)
  if (!answered.ok) throw new Error(`${session}: ${answered.status}: ${answered.text}`)
}

/** Brings the search index up to date. It is made beside the work: what was added to begin with would be measured with the rest. */
export async function indexAll(app: App): Promise<void> {
  for (let left = 1; left > 0; ) left = (await app.search(folder, { query: 'heddle', limit: 1 })).unindexed ?? 0
}
