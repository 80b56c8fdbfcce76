import type { Clock } from '../domain/clock.ts'
import { joinLabels, type Label } from '../domain/label.ts'
import type { Memory } from '../domain/memory.ts'
import type { MemoryApp, MemoryKept } from '../domain/memory-views.ts'
import { findMemory, listArchived, listMemories } from '../store/memories.ts'
import type { Reading, Store } from '../store/store.ts'
import { memoryLine } from './describe.ts'
import { forget } from './forget.ts'
import type { Meaning } from './meaning.ts'
import { viewNarratives } from './narratives.ts'
import { recall } from './recall.ts'
import { mustFind, type Remembered, remember, rewrite } from './remember.ts'
import { exportMemories, importMemories } from './transfer.ts'

/** How long somebody who asks for it waits for what the embedder says. */
const patience = 5000

/** What people say themselves. */
const own: Label = { integrity: 'trusted', sources: [] }

/** What a person does with what is known, by hand. */
export function memoryApp({ store, clock, meaning }: Around, most: number): MemoryApp {
  return {
    narratives: (query) => store.read((rows) => viewNarratives(rows, query)),
    memories: ({ limit, all = false }) =>
      store.read(async (rows) => {
        const line = (memory: Memory) => memoryLine(memory, clock.now())
        const away = all ? await listArchived(rows, { limit }) : []
        return [
          ...(await listMemories(rows, { limit })).map(line),
          ...away.map((memory) => ({ ...line(memory), archived: true as const })),
        ]
      }),
    async searchMemories(question, { limit }) {
      const meant = await meaning?.of(question, patience)
      const found = await store.read((rows) => recall(rows, question, clock.now(), limit, meant))
      const memories = found.map(({ memory, rank, words, meaning: near }) => ({
        ...memoryLine(memory, clock.now(), rank),
        words,
        ...(near !== undefined && { meaning: Number(near.toFixed(3)) }),
      }))
      return { memories, ...(meant?.trouble !== undefined && { wordsOnly: meant.trouble }) }
    },
    remember: (said) =>
      store.write('submit', async (tx) =>
        told(tx, await remember(tx, { ...said, source: 'user', label: own }, clock.now(), most), clock.now()),
      ),
    changeMemory: (id, change) =>
      store.write('submit', async (tx) => {
        const now = clock.now()
        // A word changed in what a stranger said does not make it the owner's.
        const label = joinLabels([(await mustFind(tx, id)).label, own])
        return told(tx, await rewrite(tx, id, change, { source: 'user', label }, now, most), now)
      }),
    forgetMemory: (id, options) => store.write('submit', (tx) => forget(tx, id, clock.now(), options)),
    exportMemories: (options) => exportMemories(store, clock.now(), options),
    importMemories: (text, options) => importMemories(store, text, { ...options, now: clock.now(), most }),
  }
}

interface Around {
  store: Store
  clock: Clock
  meaning?: Meaning
}

async function told(rows: Reading, kept: Remembered, now: number): Promise<MemoryKept> {
  const memory = await findMemory(rows, kept.id)
  if (!memory) throw new Error(`memory ${kept.id} is gone in the transaction that wrote it`)
  const lines = (memories: Remembered['near']) => memories.map((each) => memoryLine(each, now))
  return {
    memory: memoryLine(memory, now),
    isMerged: kept.isMerged,
    superseded: lines(kept.superseded),
    near: lines(kept.near),
  }
}
