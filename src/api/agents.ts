import type { Agent, AgentDiagnostic } from '../domain/agent.ts'
import type { ListedAgent } from '../domain/profiles/agent-index.ts'
import type { AgentEntry } from '../domain/profiles/registry.ts'
import type { ModelClamp, ProfileVersion, RunError } from '../domain/run.ts'

/** An agent file without its text. */
export type AgentFileView = Omit<Agent, 'body' | 'extra'>

/** An agent file, which is also a skill: its instructions can be given to other agents. */
export interface SkillView extends AgentFileView {
  /** Agents of the registry that get it: with every task, or with a task that asks for it. */
  givenTo: { agentId: string; when: 'always' | 'asked' }[]
  /** Profiles whose list of skills has it. */
  profiles: string[]
}

/** All agent files here, those that cannot be used included. */
interface SkillsView {
  skills: SkillView[]
  /** Problems of the directories themselves. */
  diagnostics: AgentDiagnostic[]
  /** Profiles without a list of skills: they allow all. */
  openProfiles: string[]
}

/** A tool of an agent, and why each call asks the user first; null if it does not. */
interface AgentTool {
  name: string
  asks: string | null
}

/** One agent, as a run of the caller in this folder would be it now. */
export interface AgentView extends ListedAgent {
  /** Null for those that are built in, and for those that only the registry has. */
  file: AgentFileView | null
  entry: AgentEntry | null
  /** Null without one. */
  profile: (ProfileVersion & { why: string }) | null
  tools: AgentTool[]
  /** Tools that its file asks for and that it does not get. */
  withheld: { tool: string; why: string }[]
  model: { name: string | null; why: string; fallbacks: readonly string[]; clamped?: ModelClamp }
  /** Its own instructions, or those of its profile; null for those that are built in. */
  instructions: string | null
  /** Names of the skills that it gets with every task. */
  skills: string[]
  /** Why it cannot be used. */
  error?: RunError
}

/** Agents that can be given work. `folder` is the caller's working directory. */
export interface AgentApp {
  /** All agents that can be given work here: built-in ones, those of the registry, and those that only have a file. */
  agents(folder: string): Promise<ListedAgent[]>
  /** One agent: its file, profile, tools and model, and why. */
  agent(folder: string, name: string): Promise<AgentView>
  /** All agent files here, with who gets their instructions, and their problems. */
  skills(folder: string): Promise<SkillsView>
  /** Throws if an agent does not exist or cannot be given work. */
  checkAgent(folder: string, name: string): Promise<void>
}
