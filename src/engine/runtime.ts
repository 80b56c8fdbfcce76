import type { Agent } from '../domain/agent.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { CrashPoint } from '../domain/crash-points.ts'
import type { Model } from '../domain/model.ts'
import type { Lane, Run } from '../domain/run.ts'
import type { StreamDelta } from '../domain/stream-delta.ts'
import type { MarkedText } from '../domain/text/marked-text.ts'
import type { SafeFetch } from '../domain/tools/fetch.ts'
import type { ProtectedPlaces } from '../domain/tools/path-handle.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { SemanticIndex } from '../memory/semantic-index.ts'
import type { Store } from '../store/store.ts'
import type { KnownModels } from './model/choose-model.ts'
import type { KnownRegistry } from './policies/run-policies.ts'
import type { ModelProviders } from './policies/run-profile.ts'
import type { ClaimedRun } from './run/claimed-run.ts'
import type { KnownPaths } from './run/context/known-paths.ts'
import type { RunMoments } from './run/moments.ts'
import type { ToolPolicy } from './run/policy.ts'

/** Dependencies of every engine function: store, clock, ids, and semantic search. */
export interface Runtime {
  store: Store
  clock: Clock
  newId(): string
  /** Undefined if the user has configured no embedder. */
  semanticIndex?: SemanticIndex
  /** Marks values of stored secrets in plain data that leaves the home; undefined without a home. */
  markSecrets?<T>(value: T): T
  /** A text as `markSecrets` marks it, with the values that its marks stand for; undefined without a home. */
  markedParts?(text: string): MarkedText
}

/** Limits on concurrency, time, retries and cost. */
export interface Limits {
  /** Max concurrent runs, over all processes and lanes. */
  maxRunning: number
  /** Max concurrent runs of each lane, within `maxRunning`. Background runs come on top of it. */
  lanes: Record<Lane, number>
  /** Time without a heartbeat after which other workers may take over an owner's runs. */
  leaseMs: Millis
  /** Max model calls of one request, over all its runs. */
  maxSteps: number
  /** Max agents started by one turn. */
  maxSpawnsPerTurn: number
  /** Time after its end at which a sub-agent's session is archived; 0: never. */
  archiveAfterMs: Millis
  /** Max attempts of one model call before the run fails. */
  maxTries: number
  /** Max process crashes attributed to a run before it is quarantined. */
  maxCrashes: number
  /** Default max running time of a run. */
  timeoutMs: Millis
  maxOutputTokens: number
  /** Max cost of one request, over all its runs. */
  perRequest: { usd: number; tokens: number }
  perDayUsd: number
}

/** Agents that are available in a folder. Reads their files each time. */
export interface AgentIndex {
  find(name: string, folder: string): Agent | undefined
  /** Usable agents. */
  list(folder: string): readonly Agent[]
}

/** Dependencies of executing runs: models, tools, agents, policy and limits. */
export interface Engine extends Runtime, KnownModels, ModelProviders {
  limits: Limits
  /** Cache of conversations that this process has read. */
  paths: KnownPaths
  /** Cache of the registry of agents. */
  registry: KnownRegistry
  /** The model of this name; throws if it is unknown or cannot be called. */
  model(name: string): Model
  tools: ReadonlyMap<string, Tool>
  /** Agents defined by files. */
  agents: AgentIndex
  /** Agent that answers inputs which name none, for principals that may start agents; `general` for others. */
  defaultAgent: string
  /** Whether runs are shown recalled memories, and the user's own files from this home (empty: the database is its own). */
  memory: { recall: boolean; files: boolean; home?: string }
  /** Whether a plan's tasks start as soon as they are ready, or when the coordinator starts them. */
  scheduling: 'auto' | 'coordinator'
  /** The owner's rules about tools and models. */
  policy: ToolPolicy
  /** Paths that no tool may change, since the runtime trusts them. */
  protect: ProtectedPlaces
  /** Network access of tools. */
  network: SafeFetch
  /** Origins that the owner named in the configuration: sending there needs no question. */
  allowedOrigins: readonly string[]
  /** Builds the system prompt. */
  prompt(
    claimed: Pick<ClaimedRun, 'run' | 'session' | 'actor' | 'threadPrompt' | 'items' | 'requester'>,
  ): Promise<string>
  /** Approximate size of a run's prompt, to reserve its first call before the prompt is built. */
  promptBytes(run: Pick<Run, 'agent'>): number
  /** Hooks of plans, knowledge and files. */
  moments: RunMoments<Engine>
  crash(point: CrashPoint): void
  /** Hears how long a model call took, whether it succeeded or not. */
  observeCall?(model: string, took: Millis): void
  /** Receives a model's output while it streams. */
  live(delta: StreamDelta): void
}
