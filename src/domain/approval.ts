import type { Millis } from './clock.ts'
import type { Label } from './label.ts'

/** How a question about a call can be answered: for this call, for the session, for this agent in this folder, or not. */
export const answers = ['once', 'session', 'agent', 'no'] as const
export type Answer = (typeof answers)[number]
export type Scope = Exclude<Answer, 'no'>

/** Tool name of a question about a spent budget. */
export const budgetTool = 'budget'
/** Possible decisions: an answer, or, when the day's budget is spent, to go on tomorrow. */
export const decisions = [...answers, 'tomorrow'] as const

/** One line that the runtime states about a call; never text from a model or a file. */
export interface Fact {
  name: string
  value: string
}

/** Reach of a command: only the folder, the network too, or everything the user can reach. */
const confinements = ['sandbox', 'network', 'none'] as const
export type Confinement = (typeof confinements)[number]

/** The calls that a grant covers; compared field by field. */
export interface Coverage {
  /** `write_file` stands for every tool that only writes files. */
  tool: string
  /** Real paths: the session's folder, and the directory that the call works in. */
  folder: string
  cwd: string
  /** JSON of the part that must be equal: the command, the path pattern, or the whole input. */
  pattern: string
  /** Null for a tool that runs no program. */
  confinement: Confinement | null
}

/** Whether a grant for these calls ends once a run changes a file in the folder: no sandbox limits them. */
export function lapses({ confinement }: Pick<Coverage, 'confinement'>): boolean {
  return confinement === 'network' || confinement === 'none'
}

/** A call that waits for the user's approval, or its answered question. */
export interface Approval {
  id: number
  runId: string
  callId: string
  tool: string
  input: unknown
  /** Statements of the runtime about the call. */
  facts: Fact[]
  /** Text from a model or a file: the command, a diff, the input. Invisible characters are escaped. */
  change: string
  /** Why the call needs approval. */
  reason: string
  /** Label of everything that led to this call. */
  label: Label
  /** Fingerprint of the call as shown, with all that it depends on; an approval covers exactly this. */
  hash: string
  /** The calls that a grant would cover, in words. */
  covers: string
  /** The same for comparison; null for a question from an earlier version. */
  coverage: Coverage | null
  /** Asked again because something changed before the call was made. */
  isAskedAgain: boolean
  askedAt: Millis
  answer: Answer | null
  answerReason: string | null
  answeredAt: Millis | null
  /** Text form of the principal who answered. */
  answeredBy: string | null
}

/** An answer that holds for more than one call. */
export interface Grant extends Coverage {
  id: number
  scope: 'session' | 'agent'
  /** The session it holds for, with every agent that its requests start; null when it holds for one agent in the folder. */
  sessionId: string | null
  agent: string
  createdAt: Millis
  revokedAt: Millis | null
  /** Text form of the principal who gave it. */
  grantedBy: string
  /** Whether the question named the untrusted sources that had led to the call: only then it covers sinks of such runs. */
  showedSources: boolean
}

/** The user's decision about a waiting call. */
export interface Decision {
  answer: (typeof decisions)[number]
  reason?: string
  /** Hash of the shown call, or at least its first 8 characters: a yes counts only for that call. */
  hash?: string
}

/** Min characters of a hash that identify a question. */
export const minHashLength = 8

/** Describes the covered calls in words. */
export function describeCoverage({ tool, cwd, pattern }: Pick<Coverage, 'tool' | 'cwd' | 'pattern'>): string {
  const { command, path, origin, input } = JSON.parse(pattern) as Record<
    'command' | 'path' | 'origin',
    string | undefined
  > & {
    input?: unknown
  }
  if (origin !== undefined) return `${tool} of any page of ${origin}`
  if (path !== undefined) return `writing files in ${cwd}`
  if (command !== undefined) return `${tool} \`${command}\` in ${cwd}`
  return `${tool} ${JSON.stringify(input)}`
}
