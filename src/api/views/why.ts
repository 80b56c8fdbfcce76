/** Kinds of links in a chain of reasons. `message` is an input that no turn has answered yet. */
const whyKinds = [
  ...(['file', 'run', 'result', 'task', 'plan', 'approval', 'session', 'turn', 'message', 'memory'] as const),
  'narrative',
] as const
export type WhyKind = (typeof whyKinds)[number]

/** How this link caused the previous one; `asked about` starts a chain. */
export type WhyHow =
  | 'asked about'
  | 'written by'
  | 'changed during'
  | 'moved by'
  | 'moved from'
  | 'moved by hand'
  | 'copied by'
  | 'copied from'
  | 'copied by hand'
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

/** One link of a chain of reasons; the next link explains it. Times are ISO 8601 UTC. */
export interface WhyLink {
  kind: WhyKind
  /** A full id, a number, a label, or a path with its line. */
  id: string
  title: string
  at: string | null
  how: WhyHow
  /** Its rows are gone; the chain continues from other records. */
  missing?: true
  /** Of a run or result: its agent, and the model that answered. */
  agent?: string
  model?: string
  /** The call in this run that caused the previous link. */
  tool?: string
  callId?: string
  /** Of a result: the run that made it. */
  runId?: string
  /** Of a task. */
  planId?: number
  /** Results in its input. */
  given?: number[]
  read?: FilesRead
}

/** Files that a run read, and whether they have changed since. */
export interface FilesRead {
  count: number
  /** Common folder, relative to the session's folder; `.` is that folder itself. */
  under: string
  /** Files that changed since, and the number of those not compared. */
  changed: string[]
  unknown: number
}

export type WhyTopic = 'waited' | 'retried' | 'refused' | 'crashed' | 'ended' | 'spent' | 'tried' | 'asked' | 'note'

/** An additional explanation. */
export interface WhyNote {
  topic: WhyTopic
  text: string
  at: string | null
  /** Reference of its subject. */
  ref?: string
}

/** Authors of a file's lines, as far as recorded. */
export interface FileWhy {
  path: string
  line?: number
  /** Text of the requested line. */
  text?: string
  /** Author of the requested line: `outside` heddle, or there `before` it wrote. */
  author?:
    | { by: 'run'; runId: string }
    | { by: 'before' | 'outside' }
    | { by: 'unknown'; since: string | null; runIds: string[] }
  /** Number of lines; null for a file that is binary, too large or missing. */
  lines: number | null
  /** Runs with lines still in the file, most lines first. */
  writers: { runId: string; agent: string | null; lines: number }[]
  /** Number of lines that no run wrote. */
  others: number
  /** Number of lines whose author is unknown; absent if there are none. */
  unknown?: number
}

/** A consequence, with its own consequences. */
export interface Consequence extends Pick<WhyLink, 'kind' | 'id' | 'title' | 'at' | 'agent' | 'missing'> {
  how: string
  came: Consequence[]
  /** Number of further ones not listed. */
  leftOut: number
}

export interface WhyView {
  /** Full reference of the subject. */
  ref: string
  /** From the subject back to the user's words. */
  chain: WhyLink[]
  notes: WhyNote[]
  /** Narratives that cover it and their predecessors, newest first; of a narrative, its predecessors. */
  story?: { told: WhyLink[]; isMore: boolean }
  file?: FileWhy
  /** Its consequences, if requested. */
  forward?: { came: Consequence[]; leftOut: number }
}
