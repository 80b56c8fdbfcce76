import type { Millis } from '../domain/clock.ts'
import { isUntrusted, joinLabels, type Label } from '../domain/label.ts'
import type { Memory } from '../domain/memory.ts'
import type { MemoryImport } from '../domain/memory-views.ts'
import { looksAlike } from '../domain/statement.ts'
import { archiveMemories, countMemories, holdMemories, listArchived, listMemories } from '../store/memories.ts'
import { type ImportedMemory, insertImported, knownAmong } from '../store/memory-import.ts'
import { metaValue } from '../store/meta.ts'
import type { Store } from '../store/store.ts'
import { fileHead, memorySection, readMemoryFile, type WrittenMemory } from './memory-file.ts'
import { recall } from './recall.ts'

/** So many go into one transaction. */
const pageSize = 200
/** How many that are alike are looked at. */
const mostCompared = 12
const firstScore = 1

/** Everything that counts as a file for people, in pieces; newest first. With `all`, the archive behind it. */
export async function* exportMemories(store: Store, now: Millis, { all = false } = {}): AsyncIterable<string> {
  const home = (await store.read((rows) => metaValue(rows, 'database_id'))) ?? null
  yield fileHead({ home, exportedAt: now })
  for await (const memory of pageByPage(store, listMemories)) yield memorySection(memory)
  if (!all) return
  for await (const memory of pageByPage(store, listArchived)) yield memorySection(memory, { isArchived: true })
}

async function* pageByPage(store: Store, list: typeof listMemories): AsyncIterable<Memory> {
  for (let before: number | undefined; ; ) {
    const query = { limit: pageSize, ...(before !== undefined && { before }) }
    const page = await store.read((rows) => list(rows, query))
    yield* page
    before = page.at(-1)?.id
    if (before === undefined) return
  }
}

/**
 * Reads such a file. What is here word for word is left alone, and nothing that is here gives way to what comes: a file
 * can be made by anybody. For the same reason its word counts, who said it, whether they are to be trusted and how often
 * it proved right, only if the owner vouches for it. What is too much then goes to the archive, whoever's it is.
 */
export async function importMemories(
  store: Store,
  text: string,
  { name, trust, now, most }: { name: string; trust: boolean; now: Millis; most: number },
): Promise<MemoryImport> {
  const file = readMemoryFile(text, name)
  const home = (await store.read((rows) => metaValue(rows, 'database_id'))) ?? null
  const alike: MemoryImport['alike'] = []
  const report: MemoryImport = { imported: [], skipped: 0, distrusted: 0, alike, contradicting: alike, archived: 0 }
  // The oldest first, so that the newest has the highest number again.
  const drafts = file.memories
    .map((written) => draftOf(written, { name, trust, now, isOurs: home !== null && file.home === home }))
    .reverse()
  for (let from = 0; from < drafts.length; from += pageSize) {
    const page = drafts.slice(from, from + pageSize)
    const near = await Promise.all(page.map((draft) => alikeBefore(store, draft, now, report.imported)))
    const { ids, archived } = await store.write('import', async (tx) => {
      await holdMemories(tx)
      const known = await knownAmong(
        tx,
        page.map(({ content }) => content),
      )
      const written: (number | undefined)[] = []
      for (const draft of page) {
        written.push(known.has(draft.content) ? undefined : await insertImported(tx, draft))
        known.add(draft.content)
      }
      const tooMany = (await countMemories(tx)) - most
      return { ids: written, archived: tooMany > 0 ? await archiveMemories(tx, tooMany) : 0 }
    })
    report.archived += archived
    for (const [at, id] of ids.entries()) {
      if (id === undefined) report.skipped++
      else {
        report.imported.push(id)
        alike.push(...(near[at] ?? []).map((other) => ({ id, with: other })))
        if (page[at]?.isDistrusted) report.distrusted++
      }
    }
  }
  return report
}

interface Draft extends ImportedMemory {
  /** The file calls it trusted, and nobody vouched for that. */
  isDistrusted: boolean
}

function draftOf(
  written: WrittenMemory,
  { name, trust, now, isOurs }: { name: string; trust: boolean; now: Millis; isOurs: boolean },
): Draft {
  const { content, tags, keywords, runId, turnId, createdAt = now, recalledAt = createdAt } = written
  const isDistrusted = !trust && !isUntrusted(written.label)
  return {
    content,
    tags,
    keywords,
    score: trust ? written.score : Math.min(written.score, firstScore),
    source: trust ? written.source : 'import',
    label: isDistrusted || isNobodys(written.label) ? strangers(written.label, name) : written.label,
    // These are the same everywhere; numbers mean something else in another home.
    runId,
    turnId,
    taskId: isOurs ? written.taskId : null,
    resultId: isOurs ? written.resultId : null,
    narrativeId: isOurs ? written.narrativeId : null,
    createdAt: Math.min(createdAt, now),
    recalledAt: Math.min(recalledAt, now),
    isArchived: written.isArchived,
    isDistrusted,
  }
}

/** Untrusted, and nothing says why. */
function isNobodys(label: Label): boolean {
  return isUntrusted(label) && label.sources.length === 0
}

function strangers(label: Label, name: string): Label {
  return joinLabels([label, { integrity: 'untrusted', sources: [`file:${name}`] }])
}

/** What was here before and looks like it. */
async function alikeBefore(store: Store, { content }: Draft, now: Millis, came: number[]): Promise<number[]> {
  const found = await store.read((rows) => recall(rows, content, now, mostCompared))
  const own = new Set(came)
  return found
    .filter(({ memory }) => !own.has(memory.id) && looksAlike(memory.content, content))
    .map(({ memory }) => memory.id)
}
