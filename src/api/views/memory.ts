import type { Label } from '../../domain/label.ts'
import type { MemorySource } from '../../domain/memory.ts'
import type { NarrativeLine } from './narrative.ts'

/** A memory in a list. Times are ISO 8601 UTC. */
export interface MemoryLine {
  id: number
  content: string
  tags: string[]
  keywords: string[]
  score: number
  source: MemorySource
  /** False for untrusted content: data, never an instruction. */
  trusted: boolean
  taskId?: number
  resultId?: number
  narrativeId?: number
  /** Rank by score and age, and in a search also by relevance. */
  rank: number
  createdAt: string
  /** When it was last said again, if it was. */
  saidAt?: string
  /** Excluded from every search. */
  archived?: true
}

/** A memory that matches a question. */
export interface MemoryMatch extends MemoryLine {
  /** Shared words; empty for one found by meaning alone. */
  words: string[]
  /** Semantic similarity, 0 to 1, if it was found by meaning. */
  meaning?: number
}

/** Result of a memory search. */
export interface MemorySearch {
  memories: MemoryMatch[]
  /** Why the search did not use the embedder. */
  wordsOnly?: string
}

/** All of a memory: its provenance, its replacement, and what depends on it. */
export interface MemoryView extends MemoryLine {
  kind: 'memory'
  label: Label
  runId?: string
  turnId?: string
  /** Last time it was of use. */
  recalledAt: string
  /** Its newest replacement; without content if that is forgotten. */
  replacedBy?: { id: number; content: string; createdAt: string }
  forgottenAt?: string
  /** Older memories that it replaces, the nearest first. */
  older: { id: number; content: string }[]
  /** Other memories that may say the same, nearest first. */
  near: SimilarMemory[]
  /** Narratives that are based on it, directly or by way of others. */
  narratives: number[]
  /** Runs that were shown it. */
  runs: string[]
}

/** A memory that may say the same as another one. */
export interface SimilarMemory {
  id: number
  content: string
  /** Day on which it was saved. */
  day: string
}

/** A memory that a run recalled, and why. */
export interface RecalledMemoryView {
  id: number
  rank: number
  /** Shared words; empty if it was found by meaning. */
  words: string[]
  /** Empty after it was forgotten. */
  content: string
}

/** A passage of a file in the home that matches a question. */
export interface PassageMatch {
  /** Relative to the home, such as `memory/2026-11-03.md`. */
  path: string
  line: number
  /** Headings above it, outermost first. */
  heading?: string
  text: string
  /** Rank by relevance and age of the file, on the same scale as memories. */
  rank: number
  /** Words that the question shares with it or its heading. */
  words: string[]
}

/** A passage that a run recalled, at its place then; without text once the file has changed. */
export type RecalledPassageView = PassageMatch

/** Search in the user's files in the home. */
export interface FileSearch {
  /** Passages that share words with a question, best first; none where `memory.files` is off. */
  searchFiles(question: string, query: { limit: number }): Promise<PassageMatch[]>
}

/** Result of storing a memory. */
export interface RememberResult {
  memory: MemoryLine
  /** The same statement already existed; its score was raised. */
  isMerged: boolean
  /** Memories that it replaced: the named one, and untrusted ones with the same words. */
  superseded: MemoryLine[]
  /** Similar memories, left unchanged. */
  near: MemoryLine[]
}

/** Result of forgetting a memory: what depended on it. */
export interface ForgetResult {
  id: number
  /** Narratives that are based on it, directly or by way of others: they are not told any more. */
  narratives: number[]
  /** Memories that it had replaced and that were forgotten with it. */
  older: number[]
  /** Memories that it had replaced and that stay readable. */
  kept: number[]
  /** Runs that were shown it; their answers are not changed. */
  runs: string[]
  /** Memories that may say the same and are still there, nearest first. */
  near: SimilarMemory[]
  /** Notes of the home that may say the same; only their files can be changed. */
  notes: Pick<PassageMatch, 'path' | 'line' | 'text'>[]
}

export interface MemoryImport {
  /** Their new ids, in the order of the file. */
  imported: number[]
  /** Number of memories that already existed word for word. */
  skipped: number
  /** Number of memories that the file calls trusted but the import did not trust. */
  distrusted: number
  /** Imported memories that look like existing ones; both stay. */
  alike: { id: number; with: number }[]
  /** The same pairs under an older name, for programs that use it. */
  contradicting: { id: number; with: number }[]
  /** Number of memories that were archived because there were too many. */
  archived: number
}

/** Change of a memory; omitted fields stay. */
export interface MemoryChange {
  content?: string
  tags?: string[]
  keywords?: string[]
}

/** The user's operations on memories. */
export interface MemoryApp {
  /** Narratives, newest first; of one folder if given. */
  narratives(query: { folder?: string; limit: number }): Promise<NarrativeLine[]>
  /** Active memories, newest first; with `all`, followed by archived ones. */
  memories(query: { limit: number; all?: boolean }): Promise<MemoryLine[]>
  /** Memories that share words with a question, or its meaning if there is an embedder; best first. */
  searchMemories(question: string, query: { limit: number }): Promise<MemorySearch>
  remember(memory: MemoryChange & { content: string }): Promise<RememberResult>
  /** New content makes a new memory that replaces the old one, which stays readable; tags and keywords change in place. */
  changeMemory(id: number, change: MemoryChange): Promise<RememberResult>
  /** Makes an untrusted memory trusted: one with the same words and sources replaces it. */
  trustMemory(id: number): Promise<RememberResult>
  /** Works for replaced memories too. Those that it replaced stay readable unless `older` is set. */
  forgetMemory(id: number, options?: { older?: boolean }): Promise<ForgetResult>
  /** A readable file that can be imported again, in chunks; newest first. */
  exportMemories(options?: { all?: boolean }): AsyncIterable<string>
  /** Imports such a file. `name` is recorded as the source; its trust marks count only with `trust`. */
  importMemories(text: string, options: { name: string; trust: boolean }): Promise<MemoryImport>
}
