import type { Label } from '../../domain/label.ts'
import type { TaskStatus } from '../../domain/plan.ts'

/** A narrative in a list. Times are ISO 8601 UTC. */
export interface NarrativeLine {
  id: number
  summary: string
  /** Its words are not shown: it may repeat a memory that was forgotten. */
  withheld?: true
  topic?: string
  folder: string
  /** False if untrusted content led to it: data, never an instruction. */
  trusted: boolean
  memoryIds: number[]
  previousId?: number
  /** The run that wrote it, and the last turn that it covers. */
  runId?: string
  turnId?: string
  createdAt: string
}

/** A memory that a narrative cites, with its current state. */
export interface CitedMemory {
  id: number
  /** Empty if the content is gone. */
  content: string
  state: 'counts' | 'replaced' | 'forgotten' | 'archived' | 'gone'
  /** Its current replacement. */
  replacedBy?: number
}

/** All of a narrative: text, cited memories, tasks, predecessor and successors. */
export interface NarrativeView extends NarrativeLine {
  kind: 'narrative'
  label: Label
  memories: CitedMemory[]
  /** Tasks that it tells of, as they are now. */
  tasks: { id: number; title: string; status: TaskStatus }[]
  before: { id: number; summary: string } | null
  /** Narratives that continue it, oldest first. */
  after: { id: number; summary: string }[]
}
