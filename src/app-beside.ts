import type { AppMeaning } from './app-meaning.ts'
import type { Config } from './config/config.ts'
import type { Session } from './domain/session.ts'
import { cancel } from './engine/cancel.ts'
import { startNarrator } from './engine/narrator.ts'
import type { Worker } from './engine/worker.ts'
import type { Engine } from './engine/world.ts'
import type { FileIndex } from './memory/index-files.ts'

/** What a process does beside the work, and nobody waits for. */
export interface Beside {
  /** Resolves when it is noted where the talks of a folder stand, as far as that goes on by itself, or the signal comes. */
  narrated(folder: string, signal: AbortSignal): Promise<void>
  /** Ends what was waited for so. */
  giveUpNarrating(folder: string): Promise<void>
  stop(): Promise<void>
}

/** Notes where talks stand, keeps up with the owner's files, and gives memories their vectors. */
export function workBeside(
  engine: Engine,
  worker: Pick<Worker, 'submit'>,
  {
    memory,
    files,
    embedding,
    only,
    onTrouble,
  }: {
    memory: Config['memory']
    files: FileIndex | undefined
    embedding: AppMeaning | undefined
    /** The talk that it is there for; only those of its folder are told of. */
    only: Session | undefined
    onTrouble(error: unknown): void
  },
): Beside {
  // Where nobody is reminded of anything, nobody would begin with it.
  const narrator =
    memory.narratives && memory.recall
      ? startNarrator(engine, {
          submit: worker.submit,
          ...(memory.narrator !== undefined && { model: memory.narrator }),
          ...(only && { folder: only.folder, sessionId: only.id }),
          cancel: (runId, reason) => cancel(engine, runId, reason),
          onTrouble,
        })
      : undefined
  const stopped = new AbortController()
  const indexing = files?.keepUp(stopped.signal, onTrouble)
  const stopEmbedding = embedding?.keepUp(onTrouble)
  return {
    narrated: async (folder, signal) => narrator?.atRest(folder, signal),
    giveUpNarrating: async (folder) => narrator?.giveUp(folder),
    async stop() {
      stopped.abort()
      await Promise.all([narrator?.stop(), indexing, stopEmbedding?.()])
    },
  }
}
