import type { Config } from '../config/config.ts'
import type { Session } from '../domain/session.ts'
import { startNarrator } from '../engine/knowledge/narrator.ts'
import { cancel } from '../engine/run/cancel.ts'
import type { Worker } from '../engine/run/worker/worker.ts'
import type { Engine } from '../engine/runtime.ts'
import type { SearchIndex } from '../engine/search/search-index.ts'
import type { FileIndex } from '../memory/index-files.ts'
import type { AppSemanticSearch } from './semantic-search.ts'

/** Background jobs of a process. */
interface BackgroundJobs {
  /** Resolves when the pending narratives of a folder are written, or on abort. */
  whenNarrated(folder: string, signal: AbortSignal): Promise<void>
  /** Cancels the pending narratives of a folder. */
  cancelNarration(folder: string): Promise<void>
  stop(): Promise<void>
}

/** Starts the narrator, the indexes of the owner's files and of the search, and the embedding of memories. */
export function startBackgroundJobs(
  engine: Engine,
  worker: Pick<Worker, 'submit'>,
  {
    memory,
    files,
    search,
    embedding,
    only,
    onError,
  }: {
    memory: Config['memory']
    files: FileIndex | undefined
    search: SearchIndex
    embedding: AppSemanticSearch | undefined
    /** The session this process works for; only sessions of its folder get narratives. */
    only: Session | undefined
    onError(error: unknown): void
  },
): BackgroundJobs {
  // Narratives are only shown through recall.
  const narrator =
    memory.narratives && memory.recall
      ? startNarrator(engine, {
          submit: worker.submit,
          ...(memory.narrator !== undefined && { model: memory.narrator }),
          ...(only && { folder: only.folder, sessionId: only.id }),
          cancel: (runId, reason) => cancel(engine, runId, reason),
          onError,
        })
      : undefined
  const stopped = new AbortController()
  const indexing = [files?.keepUp(stopped.signal, onError), search.keepUp(stopped.signal, onError)]
  const stopEmbedding = embedding?.keepUp(onError)
  return {
    whenNarrated: async (folder, signal) => narrator?.whenIdle(folder, signal),
    cancelNarration: async (folder) => narrator?.cancelPending(folder),
    async stop() {
      stopped.abort()
      await Promise.all([narrator?.stop(), ...indexing, stopEmbedding?.()])
    },
  }
}
