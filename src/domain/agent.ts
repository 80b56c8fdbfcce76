const agentFormats = ['heddle', 'agent-skill', 'claude-agent', 'claude-skill', 'opencode', 'openclaw'] as const
/** Convention that an agent file follows. */
export type AgentFormat = (typeof agentFormats)[number]

/** Origin of an agent, in order of precedence: the first one with a name wins. */
const agentSources = ['folder', 'home', 'config', 'built-in'] as const
export type AgentSource = (typeof agentSources)[number]

/** `ready` and `degraded` agents can be given work: a degraded one has less than its file asks for. */
export type AgentStatus = 'ready' | 'degraded' | 'broken' | 'untrusted'

/** A finding about an agent file, with a remedy. An error makes the agent broken, a warning degraded, a note neither. */
export interface AgentDiagnostic {
  level: 'error' | 'warning' | 'note'
  message: string
  path: string
  line?: number
  remedy?: string
}

/** An agent: a markdown file with YAML frontmatter. */
export interface Agent {
  name: string
  /** One line. */
  description: string
  /** Situations in which to use it. */
  triggers: string[]
  /** All tools it has, by Heddle's names; it cannot call any other. */
  tools: string[]
  /** Those of its tools that need approval for each call, because the file limits them. */
  ask: string[]
  /** Limits as the file writes them, such as `Bash(git:*)`. */
  limits: string[]
  /** Model alias from the config; null for the default model. */
  model: string | null
  /** Its instructions; part of its own prompt only. */
  body: string
  path: string
  format: AgentFormat
  source: AgentSource
  /** SHA-256 of the file, in hexadecimal. */
  hash: string
  status: AgentStatus
  /** Estimated tokens of the body. */
  promptTokens: number
  diagnostics: AgentDiagnostic[]
  /** All other frontmatter fields, unchanged. */
  extra: Record<string, unknown>
  /** The file that won this name, if another one did. */
  shadowedBy?: string
}

/** Whether an agent can be given work. */
export function isLive({ status, shadowedBy }: Pick<Agent, 'status' | 'shadowedBy'>): boolean {
  return (status === 'ready' || status === 'degraded') && shadowedBy === undefined
}

/** The two agents without a file: one only delegates, one does everything itself. */
export const builtInAgents = [
  { name: 'coordinator', description: 'Talks with you, plans and delegates; does nothing itself.' },
  { name: 'general', description: 'Does everything itself, with the tools for files, commands and the web.' },
] as const
export type BuiltInAgent = (typeof builtInAgents)[number]['name']

/** Agent directories of a folder: Heddle's first, then those of other programs. */
export const agentDirectories: readonly string[] = [
  ...['.heddle/agents', '.heddle/skills', '.agents/skills', '.claude/agents', '.claude/skills'],
  ...['.opencode/agent', '.opencode/agents'],
]
