import type { FileSearch, ForgetResult, MemoryApp, RememberResult } from '../api/views/memory.ts'
import type { Clock } from '../domain/clock.ts'
import { joinLabels, type Label } from '../domain/label.ts'
import type { Memory } from '../domain/memory.ts'
import type { MarkedText } from '../domain/text/marked-text.ts'
import { mayContain } from '../domain/text/retelling.ts'
import { findMemory, listArchived, listMemories } from '../store/knowledge/memories.ts'
import type { Reading, Store } from '../store/store.ts'
import { memoryLine } from './describe.ts'
import { forget } from './forget.ts'
import { storedContent, withMarkedValues } from './marked-values.ts'
import { viewNarratives } from './narratives.ts'
import { recall } from './recall.ts'
import { getActiveMemory, remember, rewrite, type StoredMemory, trustMemory } from './remember.ts'
import type { SemanticIndex } from './semantic-index.ts'
import { exportMemories, importMemories } from './transfer.ts'

/** Max wait for the embedder when a user searches. */
const embedderTimeout = 5000

/** Label of the user's own statements. */
const own: Label = { integrity: 'trusted', sources: [] }

/** Memory commands of the user. */
export function memoryApp(context: MemoryAppContext, maxMemories: number): MemoryApp {
  const { store, clock, semanticIndex, files, markSecrets = (value) => value, markedParts = (text) => [text] } = context
  return {
    narratives: async (query) => markSecrets(await store.read((rows) => viewNarratives(rows, query))),
    memories: ({ limit, all = false }) =>
      store.read(async (rows) => {
        const line = (memory: Memory) => memoryLine(memory, clock.now())
        const archived = all ? await listArchived(rows, { limit }) : []
        return markSecrets([
          ...(await listMemories(rows, { limit })).map(line),
          ...archived.map((memory) => ({ ...line(memory), archived: true as const })),
        ])
      }),
    async searchMemories(question, { limit }) {
      const matches = await semanticIndex?.search(question, embedderTimeout)
      const found = await store.read((rows) => recall(rows, question, clock.now(), limit, matches))
      const memories = found.map(({ memory, rank, words, meaning: near }) => ({
        ...memoryLine(memory, clock.now(), rank),
        words,
        ...(near !== undefined && { meaning: Number(near.toFixed(3)) }),
      }))
      return { memories: markSecrets(memories), ...(matches?.reason !== undefined && { wordsOnly: matches.reason }) }
    },
    remember: async (draft) =>
      markSecrets(
        await store.write('submit', async (tx) => {
          const content = await storedContent(tx, draft.content, markedParts)
          const full = { ...draft, content, source: 'user' as const, label: own }
          return describeKept(tx, await remember(tx, full, clock.now(), maxMemories), clock.now())
        }),
      ),
    changeMemory: async (id, change) => {
      const kept = await store.write('submit', async (tx) => {
        const now = clock.now()
        const old = await getActiveMemory(tx, id)
        // Editing an untrusted memory does not make it trusted.
        const label = joinLabels([old.label, own])
        const full = withMarkedValues(change, old, markedParts)
        return describeKept(tx, await rewrite(tx, id, full, { source: 'user', label }, now, maxMemories), now)
      })
      return markSecrets(kept)
    },
    trustMemory: async (id) =>
      markSecrets(
        await store.write('submit', async (tx) =>
          describeKept(tx, await trustMemory(tx, id, clock.now(), maxMemories), clock.now()),
        ),
      ),
    forgetMemory: async (id, options) => {
      const content = (await store.read((rows) => findMemory(rows, id)))?.content ?? ''
      const gone = await store.write('submit', (tx) => forget(tx, id, clock.now(), options))
      return markSecrets({ ...gone, notes: await notesSaying(content, files) })
    },
    exportMemories: (options) => exportMemories(store, clock.now(), { ...options, markSecrets }),
    importMemories: (text, options) =>
      importMemories(store, text, { ...options, now: clock.now(), maxMemories, markedParts }),
  }
}

interface MemoryAppContext {
  store: Store
  clock: Clock
  semanticIndex?: SemanticIndex
  /** Search over the owner's notes, if enabled. */
  files?: FileSearch | undefined
  /** Marks secrets in what is shown and exported. */
  markSecrets?<T>(value: T): T
  /** A text as `markSecrets` marks it, with the values that its marks stand for. */
  markedParts?(text: string): MarkedText
}

/** Max notes that are compared with what is forgotten. */
const maxNotes = 5

async function notesSaying(content: string, files: FileSearch | undefined): Promise<ForgetResult['notes']> {
  const found = (await files?.searchFiles(content, { limit: maxNotes })) ?? []
  return found
    .filter(({ text, heading = '' }) => mayContain(`${heading} ${text}`, content))
    .map(({ path, line, text }) => ({ path, line, text }))
}

async function describeKept(rows: Reading, result: StoredMemory, now: number): Promise<RememberResult> {
  const memory = await findMemory(rows, result.id)
  if (!memory) throw new Error(`memory ${result.id} is gone in the transaction that wrote it`)
  const lines = (memories: StoredMemory['near']) => memories.map((each) => memoryLine(each, now))
  return {
    memory: memoryLine(memory, now),
    isMerged: result.isMerged,
    superseded: lines(result.superseded),
    near: lines(result.near),
  }
}
