export const agentFormats = ['heddle', 'agent-skill', 'claude-agent', 'claude-skill', 'opencode', 'openclaw'] as const
/** Whose conventions a file follows. */
export type AgentFormat = (typeof agentFormats)[number]

/** Where an agent comes from. The first that has a name wins it. */
export const agentSources = ['folder', 'home', 'config', 'built-in'] as const
export type AgentSource = (typeof agentSources)[number]

/** `ready` and `degraded` agents can be given work: a degraded one has less than its file asks for. */
export type AgentStatus = 'ready' | 'degraded' | 'broken' | 'untrusted'

/** Something about a file that a person should know, with what to do. An error breaks, a warning degrades, a note does neither. */
export interface AgentDiagnostic {
  level: 'error' | 'warning' | 'note'
  message: string
  path: string
  line?: number
  remedy?: string
}

/** Someone who can be given a task: a markdown file with a head in YAML. */
export interface Agent {
  name: string
  /** One line. */
  description: string
  /** When to think of it. */
  triggers: string[]
  /** Everything it can do, by our names; what is not listed does not exist for it. */
  tools: string[]
  /** Those of its tools that must ask before each call, because the file wanted them limited. */
  ask: string[]
  /** Limits as the file writes them, such as `Bash(git:*)`. */
  limits: string[]
  /** The owner's name for a model; null for the default one. */
  model: string | null
  /** Its instructions: for nobody's prompt but its own. */
  body: string
  path: string
  format: AgentFormat
  source: AgentSource
  /** SHA-256 of the file, in hexadecimal. */
  hash: string
  status: AgentStatus
  /** What the body weighs, about. */
  promptTokens: number
  diagnostics: AgentDiagnostic[]
  /** Everything else that the head says, as it was. */
  extra: Record<string, unknown>
  /** The file that has this name instead, if another one has it. */
  shadowedBy?: string
}

/** Whether an agent can be given work. */
export function isLive({ status, shadowedBy }: Pick<Agent, 'status' | 'shadowedBy'>): boolean {
  return (status === 'ready' || status === 'degraded') && shadowedBy === undefined
}

/** The two agents that are there without a file: one delegates and does nothing itself, one does everything itself. */
export const builtInAgents = [
  { name: 'coordinator', description: 'Talks with you, plans and delegates; does nothing itself.' },
  { name: 'general', description: 'Does everything itself, with the tools for files, commands and the web.' },
] as const
export type BuiltInAgent = (typeof builtInAgents)[number]['name']
