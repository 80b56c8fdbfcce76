import type { Generated } from 'kysely'
import type { Integrity } from '../domain/label.ts'
import type { MemorySource } from '../domain/memory.ts'

interface MemoryColumns {
  content: string
  tags_json: string
  keywords_json: string
  score: number
  source: MemorySource
  integrity: Integrity
  sources_json: string
  run_id: string | null
  turn_id: string | null
  task_id: number | null
  result_id: number | null
  narrative_id: number | null
  created_at: number
  recalled_at: number
  superseded_by: number | null
  forgotten_at: number | null
  /** When it was last said again; null if it was said once. */
  said_at: Generated<number | null>
}

/** Rows of memories, narratives and the owner's indexed files. */
export interface KnowledgeTables {
  memories: { id: Generated<number> } & MemoryColumns
  memories_archive: { id: number } & MemoryColumns
  memory_words: { word: string; memory_id: number; hits: number }
  memory_recalls: { run_id: string; memory_id: number; rank: number; words: string }
  narrative_recalls: { run_id: string; narrative_id: number }
  narrative_tasks: { narrative_id: number; task_id: number }
  /** `yardstick` is a list of vectors, `vector` one: a byte for each dimension, in base64. */
  embedders: { id: Generated<number>; name: string; dimensions: number; yardstick: string; used_at: number }
  memory_vectors: { seq: Generated<number>; embedder_id: number; memory_id: number; vector: string }
  narratives: {
    id: Generated<number>
    summary: string
    topic: string | null
    folder: string
    memory_ids: string
    previous_narrative_id: number | null
    run_id: string | null
    turn_id: string | null
    integrity: Integrity
    sources_json: string
    created_at: number
    session_id: string | null
  }
  home_files: {
    id: Generated<number>
    path: string
    size: number
    modified_at: number
    hash: string
    passages: number
    indexed_at: number
    home: Generated<string>
  }
  passages: {
    id: Generated<number>
    file_id: number
    line: number
    heading: string | null
    text: string
    digest: string
  }
  passage_words: { word: string; passage_id: number; hits: number }
  passage_recalls: { run_id: string; passage_id: number; path: string; line: number; rank: number; words: string }
}
