import type { Label } from './label.ts'
import type { MemorySource } from './memory.ts'
import type { NarrativeLine } from './narrative-views.ts'

/** A memory in a list. Times are ISO 8601 UTC. */
export interface MemoryLine {
  id: number
  content: string
  tags: string[]
  keywords: string[]
  score: number
  source: MemorySource
  /** False for what strangers said: material, never an order. */
  trusted: boolean
  taskId?: number
  resultId?: number
  narrativeId?: number
  /** What it counts: by its score and its age, and in a search by how well it fits. */
  rank: number
  createdAt: string
  /** Out of the way of every search. */
  archived?: true
}

/** One that fits a question. */
export interface MemoryFound extends MemoryLine {
  /** Words of the question that it has; none of one that was found by its meaning alone. */
  words: string[]
  /** How well it fits by its meaning, 0 to 1, where it was found by that. */
  meaning?: number
}

/** What a search found. */
export interface MemorySearch {
  memories: MemoryFound[]
  /** Why the embedder had no part in it. */
  wordsOnly?: string
}

/** All of a memory: where it came from, what took its place, and what rests on it. */
export interface MemoryView extends MemoryLine {
  kind: 'memory'
  label: Label
  runId?: string
  turnId?: string
  /** When it was last of use. */
  recalledAt: string
  /** The last of those that took its place; without content if that one is forgotten. */
  replacedBy?: { id: number; content: string; createdAt: string }
  forgottenAt?: string
  /** Older ones whose place it took, the nearest first. */
  older: { id: number; content: string }[]
  /** Narratives that cite it. */
  narratives: number[]
  /** Runs that were shown it. */
  runs: string[]
}

/** A memory that a run was reminded of, and why. */
export interface Reminded {
  id: number
  rank: number
  /** Words of the question that made it fit; none where its meaning did. */
  words: string[]
  /** Empty once it is forgotten. */
  content: string
}

/** A passage of a file in the home that fits a question. */
export interface PassageFound {
  /** From the home on, such as `memory/2026-11-03.md`. */
  path: string
  line: number
  /** What it stands under, the outermost heading first. */
  heading?: string
  text: string
  /** How well it fits and how new its file is, on the scale of memories. */
  rank: number
  /** Words of the question that it has, or its heading. */
  words: string[]
}

/** A passage that a run was reminded of, where it stood then; without text once the file says something else. */
export type RemindedPassage = PassageFound

/** What a person can find of what they wrote into the home. */
export interface FileSearch {
  /** Passages that share words with a question, best first; none where `memory.files` is off. */
  searchFiles(question: string, query: { limit: number }): Promise<PassageFound[]>
}

/** What became of something that a person wants to be remembered. */
export interface MemoryKept {
  memory: MemoryLine
  /** The same statement was there already: it counts more now. */
  isMerged: boolean
  /** Those that it replaced: the one that was named, and the same words of strangers. */
  superseded: MemoryLine[]
  /** Those that look alike and stay as they are. */
  near: MemoryLine[]
}

/** What rested on something that is forgotten. */
export interface MemoryForgotten {
  id: number
  /** Narratives that cite it. */
  narratives: number[]
  /** Those that it had replaced and that were forgotten with it. */
  older: number[]
  /** Those that it had replaced and that stay readable. */
  kept: number[]
  /** Runs that were shown it: what they said is not changed. */
  runs: string[]
}

export interface MemoryImport {
  /** Their numbers here, in the order of the file. */
  imported: number[]
  /** How many are here word for word. */
  skipped: number
  /** How many the file calls trusted that are not: nobody here vouched for them. */
  distrusted: number
  /** What came and looks like something that is here; both stay. */
  alike: { id: number; with: number }[]
  /** The same pairs, under the name that programs know. */
  contradicting: { id: number; with: number }[]
  /** How many went to the archive, since there were too many then. */
  archived: number
}

/** What somebody wants of a memory; what is left out stays. */
export interface MemoryChange {
  content?: string
  tags?: string[]
  keywords?: string[]
}

/** What a person can do with what is known. */
export interface MemoryApp {
  /** Where the work stands, newest first; of one folder if one is named. */
  narratives(query: { folder?: string; limit: number }): Promise<NarrativeLine[]>
  /** Those that count, newest first; with `all`, those in the archive behind them. */
  memories(query: { limit: number; all?: boolean }): Promise<MemoryLine[]>
  /** Those that share words with a question, or mean the same where there is an embedder; best first. */
  searchMemories(question: string, query: { limit: number }): Promise<MemorySearch>
  remember(said: MemoryChange & { content: string }): Promise<MemoryKept>
  /** New words take the place of the old ones, which stay readable; new tags and keywords just replace the old. */
  changeMemory(id: number, change: MemoryChange): Promise<MemoryKept>
  /** Also one that was replaced. What it had replaced itself stays readable unless `older` is set. */
  forgetMemory(id: number, options?: { older?: boolean }): Promise<MemoryForgotten>
  /** A file for people that can be read back, in pieces; newest first. */
  exportMemories(options?: { all?: boolean }): AsyncIterable<string>
  /** Reads such a file. `name` is told as where they came from; what it calls trusted is so only if `trust` says so. */
  importMemories(text: string, options: { name: string; trust: boolean }): Promise<MemoryImport>
}
