import type { Millis } from './clock.ts'
import type { Label } from './label.ts'

/** How a question about a call can be answered: for this call, for the session, for this agent in this folder, or not. */
export const answers = ['once', 'session', 'agent', 'no'] as const
export type Answer = (typeof answers)[number]
export type Scope = Exclude<Answer, 'no'>

/** What a question about a spent budget names in the place of a tool. */
export const budgetTool = 'budget'
/** What can be said to a question: an answer, or, where the budget of a day is spent, to go on tomorrow. */
export const decisions = [...answers, 'tomorrow'] as const

/** What the runtime says about a call, by name: one line each, nothing of it written by a model or a file. */
export interface Fact {
  name: string
  value: string
}

/** What a command can reach: nothing but the folder, the network too, or whatever the user can. */
export const confinements = ['sandbox', 'network', 'none'] as const
export type Confinement = (typeof confinements)[number]

/** The calls that an answer for more than one call covers: compared field by field. */
export interface Coverage {
  /** `write_file` stands for every tool that only writes files. */
  tool: string
  /** Real paths: the session's folder, and the directory that the call works in. */
  folder: string
  cwd: string
  /** JSON of what must be the same: the command, the path pattern, or the whole input. */
  pattern: string
  /** Null for a tool that runs no program. */
  confinement: Confinement | null
}

/** Whether a grant for these calls ends as soon as a run has changed a file in the folder: no sandbox bounds them. */
export function lapses({ confinement }: Pick<Coverage, 'confinement'>): boolean {
  return confinement === 'network' || confinement === 'none'
}

/** A call that waits for somebody's word, or did. */
export interface Approval {
  id: number
  runId: string
  callId: string
  tool: string
  input: unknown
  /** What the runtime knows about the call. */
  facts: Fact[]
  /** The text that a model or a file wrote: the command, a diff, the input. Nothing invisible is left in it. */
  change: string
  /** Why somebody is asked. */
  reason: string
  /** Where the words that led to this call came from. */
  label: Label
  /** Of the call as it was shown and all that it rests on: what is approved is this and nothing else. */
  hash: string
  /** What a wider answer would cover, in words. */
  covers: string
  /** The same to be compared; null for a question of an earlier version. */
  coverage: Coverage | null
  /** Asked a second time, since something had changed before the call was made. */
  isAskedAgain: boolean
  askedAt: Millis
  answer: Answer | null
  answerReason: string | null
  answeredAt: Millis | null
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
}

/** What somebody says to a call that waits. */
export interface Decision {
  answer: (typeof decisions)[number]
  reason?: string
  /** The hash of what they were shown, or at least its first 8 characters: a yes counts for that alone. */
  hash?: string
}

/** How much of a hash names a question. */
export const shortestHash = 8

/** A call that an answer covers, in words. */
export function coverageWords({ tool, cwd, pattern }: Pick<Coverage, 'tool' | 'cwd' | 'pattern'>): string {
  const { command, path, input } = JSON.parse(pattern) as { command?: string; path?: string; input?: unknown }
  if (path !== undefined) return `writing files in ${cwd}`
  if (command !== undefined) return `${tool} \`${command}\` in ${cwd}`
  return `${tool} ${JSON.stringify(input)}`
}
