/** What a chain of reasons can be made of. `message` is one that no turn has answered yet. */
export const whyKinds = [
  ...(['file', 'run', 'result', 'task', 'plan', 'approval', 'session', 'turn', 'message', 'memory'] as const),
  'narrative',
] as const
export type WhyKind = (typeof whyKinds)[number]

/** How the link before came of this one; `asked about` begins a chain. */
export type WhyHow =
  | 'asked about'
  | 'written by'
  | 'answered by'
  | 'asked by'
  | 'made by'
  | 'started by'
  | 'woken by'
  | 'from'
  | 'because of'
  | 'part of'
  | 'planned in'
  | 'noted in'
  | 'points at'
  | 'tells of'
  | 'told in'
  | 'goes on from'
  | 'you said'
  | 'was told'

/** One thing and why it is there: the next link of the chain says more. Times are ISO 8601 UTC. */
export interface WhyLink {
  kind: WhyKind
  /** A whole id, a number, a label, or a path with its line. */
  id: string
  title: string
  at: string | null
  how: WhyHow
  /** Its rows are gone; the chain goes on with what others know of it. */
  missing?: true
  /** Of a run or result: who did it, and the model that answered. */
  agent?: string
  model?: string
  /** The call in this run that the link before came of. */
  tool?: string
  callId?: string
  /** Of a result: the run that made it. */
  runId?: string
  /** Of a task. */
  planId?: number
  /** Results that it was given. */
  given?: number[]
  read?: FilesRead
}

/** Files that a run read, and whether they are still so. */
export interface FilesRead {
  count: number
  /** The folder that holds them all, from the session's folder on; `.` is that itself. */
  under: string
  /** Those that are not as they were read, and those that nobody compared. */
  changed: string[]
  unknown: number
}

export type WhyTopic = 'waited' | 'retried' | 'refused' | 'crashed' | 'ended' | 'spent' | 'tried' | 'asked' | 'note'

/** What else explains the thing that was asked about. */
export interface WhyNote {
  topic: WhyTopic
  text: string
  at: string | null
  /** What it is about, as a reference. */
  ref?: string
}

/** Who wrote what of a file, as far as it is recorded. */
export interface FileWhy {
  path: string
  line?: number
  /** Of the line that was asked about. */
  text?: string
  /** How many lines there are; null where they are not told apart: binary, too large, not there. */
  lines: number | null
  /** Runs whose lines it still holds, the one with the most first. */
  writers: { runId: string; agent: string | null; lines: number }[]
  /** Lines that no run wrote. */
  others: number
}

/** Something that came of a thing, and what came of that. */
export interface Came extends Pick<WhyLink, 'kind' | 'id' | 'title' | 'at' | 'agent' | 'missing'> {
  how: string
  came: Came[]
  /** What there is besides, not told. */
  leftOut: number
}

export interface WhyView {
  /** The whole reference of what was asked about. */
  ref: string
  /** From there back to the words of a person. */
  chain: WhyLink[]
  notes: WhyNote[]
  /** Narratives: where it was told and what was told before, newest first; of a narrative, those before it. */
  story?: { told: WhyLink[]; isMore: boolean }
  file?: FileWhy
  /** What came of it, if that was asked for. */
  forward?: { came: Came[]; leftOut: number }
}
