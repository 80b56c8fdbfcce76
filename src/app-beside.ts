import type { AppMeaning } from './app-meaning.ts'
import type { Config } from './config/config.ts'
import { startNarrator } from './engine/narrator.ts'
import type { Worker } from './engine/worker.ts'
import type { World } from './engine/world.ts'
import type { FileIndex } from './memory/index-files.ts'

/** What a process does beside the work, and nobody waits for. */
export interface Beside {
  /** Resolves when it is noted where the talks of a folder stand, as far as that goes on by itself, or the signal comes. */
  narrated(folder: string, signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

/** Notes where talks stand, keeps up with the owner's files, and gives memories their vectors. */
export function workBeside(
  world: World,
  worker: Pick<Worker, 'submit'>,
  {
    memory,
    files,
    embedding,
    folder,
    onTrouble,
  }: {
    memory: Config['memory']
    files: FileIndex | undefined
    embedding: AppMeaning | undefined
    /** Only the talks of this one. */
    folder: string | undefined
    onTrouble(error: unknown): void
  },
): Beside {
  const narrator = memory.narratives
    ? startNarrator(world, {
        submit: worker.submit,
        ...(memory.narrator !== undefined && { model: memory.narrator }),
        ...(folder !== undefined && { folder }),
        onTrouble,
      })
    : undefined
  const stopped = new AbortController()
  const indexing = files?.keepUp(stopped.signal, onTrouble)
  const stopEmbedding = embedding?.keepUp(onTrouble)
  return {
    narrated: async (where, signal) => narrator?.atRest(where, signal),
    async stop() {
      stopped.abort()
      await Promise.all([narrator?.stop(), indexing, stopEmbedding?.()])
    },
  }
}
