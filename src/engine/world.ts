import type { Agent } from '../domain/agent.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import type { CrashPoint } from '../domain/crash-points.ts'
import type { SafeFetch } from '../domain/fetch.ts'
import type { LiveSign } from '../domain/live.ts'
import type { Model } from '../domain/model.ts'
import type { ProtectedPlaces } from '../domain/path-handle.ts'
import type { Persona } from '../domain/persona.ts'
import type { Run } from '../domain/run.ts'
import type { Tool } from '../domain/tool.ts'
import type { Meaning } from '../memory/meaning.ts'
import type { Store } from '../store/store.ts'
import type { KnownPaths } from './known-paths.ts'

/** Everything the engine needs that is not an argument of the call: rows, time, new ids, what words mean. */
export interface World {
  store: Store
  clock: Clock
  newId(): string
  /** Where the owner has an embedder. */
  meaning?: Meaning
}

/** How much may happen at once, and for how long. */
export interface Limits {
  /** Runs that run at the same time, over all processes. */
  maxRunning: number
  /** Those among them that work for another run. */
  maxChildren: number
  /** How long an owner may be silent before its runs are given to others. */
  leaseMs: Millis
  /** Model calls of one request, with all its runs. */
  maxSteps: number
  /** Agents that one turn may start. */
  maxSpawnsPerTurn: number
  /** Attempts of one model call before the run fails. */
  maxTries: number
  /** Owners that may die with a run before it is quarantined. */
  maxCrashes: number
  /** Running time of a run that was not given one. */
  timeoutMs: Millis
  maxOutputTokens: number
  /** What one request, with all its runs, may cost. */
  perRequest: { usd: number; tokens: number }
  perDayUsd: number
}

/** Agents by name, as a folder knows them. Looks at the files each time. */
export interface AgentIndex {
  find(name: string, folder: string): Agent | undefined
  /** Those that can be given work. */
  list(folder: string): readonly Agent[]
}

/** Where a run stands: what its rights depend on besides itself. */
export interface Place {
  persona: Persona | null
  folder: string
  /** The run that began it: it can do no more than that one could let others do. */
  parent?: Run
}

/** What running things needs besides the world: someone who thinks, something to do it with, and limits. */
export interface Engine extends World {
  limits: Limits
  /** What this process has read of talks. */
  paths: KnownPaths
  /** The model of this name, or the default one; refuses an unknown name. */
  model(name: string | null): Model
  /** Models that are asked in this order when the default one does not answer; nobody else has any. */
  fallbacks: readonly string[]
  tools: ReadonlyMap<string, Tool>
  /** Everyone who can be given work besides those that are built in. */
  agents: AgentIndex
  /** Who answers where nobody was named. */
  defaultAgent: string
  /** Whether runs are reminded of what is known, and of what the owner wrote into the home. */
  memory: { recall: boolean; files: boolean }
  /** Whether the tasks of a plan are begun as soon as they can be, or when the coordinator says so. */
  scheduling: 'auto' | 'coordinator'
  /** The tools that a run may use: what is not among them does not exist for it. */
  toolsFor(run: Run, place: Place): string[]
  /** Why somebody must be asked before a run may use this tool; undefined when nobody is. */
  mustAsk(tool: string, run: Pick<Run, 'agent'>, place: Place): string | undefined
  /** What the runtime trusts: no tool changes it. */
  protect: ProtectedPlaces
  /** How tools get to the network. */
  network: SafeFetch
  /** Who the agent is and what it must know. */
  prompt(run: Pick<Run, 'agent' | 'depth' | 'effectiveTools'>, place: Place): Promise<string>
  /** What a prompt weighs, about, for setting a cost aside before it is made. */
  promptBytes(): number
  crash(point: CrashPoint): void
  /** Told what a run says while it says it. */
  live(sign: LiveSign): void
}
