import type { Label } from './label.ts'

/** A narrative in a list. Times are ISO 8601 UTC. */
export interface NarrativeLine {
  id: number
  summary: string
  topic?: string
  folder: string
  /** False where strangers' words led to it: material, never an order. */
  trusted: boolean
  memoryIds: number[]
  previousId?: number
  /** Who wrote it, and the last turn that it tells of. */
  runId?: string
  turnId?: string
  createdAt: string
}

/** A memory that a narrative rests on, and what became of it since. */
export interface RestsOn {
  id: number
  /** Empty where there is nothing to read any more. */
  content: string
  state: 'counts' | 'replaced' | 'forgotten' | 'archived' | 'gone'
  /** The one that counts in its place. */
  replacedBy?: number
}

/** All of a narrative: what it says, what it rests on, and its place among the others. */
export interface NarrativeView extends NarrativeLine {
  kind: 'narrative'
  label: Label
  memories: RestsOn[]
  before: { id: number; summary: string } | null
  /** Those that go on from it, oldest first. */
  after: { id: number; summary: string }[]
}
