import type { MemoryImport } from '../api/views/memory.ts'
import type { Millis } from '../domain/clock.ts'
import { isUntrusted, joinLabels, type Label } from '../domain/label.ts'
import { type Memory, maxUntrustedScore } from '../domain/memory.ts'
import type { MarkedText } from '../domain/text/marked-text.ts'
import { looksAlike } from '../domain/text/statement.ts'
import {
  archiveMemories,
  countMemories,
  listArchived,
  listMemories,
  lockMemories,
} from '../store/knowledge/memories.ts'
import { existingContents, type ImportedMemory, insertImported } from '../store/knowledge/memory-import.ts'
import { metaValue } from '../store/rows/meta.ts'
import type { Store } from '../store/store.ts'
import { contentsShownAs } from './marked-values.ts'
import { type FileMemory, fileHead, memorySection, readMemoryFile } from './memory-file.ts'
import { recall } from './recall.ts'

/** Memories written in one transaction. */
const pageSize = 200
/** Max similar memories to compare with. */
const maxCompared = 12

/** Exports active memories as markdown, newest first, in chunks, without values of secrets; with `all` the archive follows. */
export async function* exportMemories(
  store: Store,
  now: Millis,
  { all = false, markSecrets }: { all?: boolean; markSecrets<T>(value: T): T },
): AsyncIterable<string> {
  const home = (await store.read((rows) => metaValue(rows, 'database_id'))) ?? null
  yield fileHead({ home, exportedAt: now })
  for await (const memory of pageByPage(store, listMemories)) yield memorySection(markSecrets(memory))
  if (!all) return
  for await (const memory of pageByPage(store, listArchived))
    yield memorySection(markSecrets(memory), { isArchived: true })
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

interface ImportOptions {
  name: string
  trust: boolean
  now: Millis
  maxMemories: number
  /** A text as secrets are marked in it, with the values that the marks stand for. */
  markedParts(text: string): MarkedText
}

/**
 * Imports an export file. Skips memories that exist word for word and replaces none. A file can come from anyone, so its
 * source, trust and score are accepted only with `trust`. Memories beyond the max are archived.
 */
export async function importMemories(
  store: Store,
  text: string,
  { name, trust, now, maxMemories, markedParts }: ImportOptions,
): Promise<MemoryImport> {
  const file = readMemoryFile(text, name)
  const home = (await store.read((rows) => metaValue(rows, 'database_id'))) ?? null
  const alike: MemoryImport['alike'] = []
  const report: MemoryImport = { imported: [], skipped: 0, distrusted: 0, alike, contradicting: alike, archived: 0 }
  // Oldest first, so that the newest gets the highest id again.
  const drafts = file.memories
    .map((written) => draftOf(written, { name, trust, now, isOurs: home !== null && file.home === home }))
    .reverse()
  const seen = new Set<string>()
  for (let from = 0; from < drafts.length; from += pageSize) {
    const page = drafts.slice(from, from + pageSize)
    const near = await Promise.all(page.map((draft) => similarExisting(store, draft, now, report.imported)))
    const { ids, archived } = await store.write('import', async (tx) => {
      await lockMemories(tx)
      const contents = page.map(({ content }) => content)
      const known = await existingContents(tx, contents, report.imported[0])
      const shown = await contentsShownAs(tx, contents, markedParts)
      const repeated = new Set(seen)
      const written: (number | undefined)[] = []
      for (const draft of page) {
        const isKnown = known.has(draft.content) || shown.has(draft.content) || repeated.has(sameIn(draft))
        written.push(isKnown ? undefined : await insertImported(tx, draft))
        repeated.add(sameIn(draft))
      }
      const tooMany = (await countMemories(tx)) - maxMemories
      const first = report.imported[0] ?? written.find((id) => id !== undefined)
      return { ids: written, archived: tooMany > 0 ? await archiveMemories(tx, tooMany, first) : 0 }
    })
    for (const draft of page) seen.add(sameIn(draft))
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
  /** The file marks it as trusted, but the user did not. */
  isDistrusted: boolean
}

/** What makes two sections of one file the same memory: a home may have the same words in its archive, too. */
function sameIn({ content, label, isArchived = false }: Draft): string {
  return JSON.stringify([content, label.integrity, isArchived])
}

function draftOf(
  written: FileMemory,
  { name, trust, now, isOurs }: { name: string; trust: boolean; now: Millis; isOurs: boolean },
): Draft {
  const { content, tags, keywords, runId, turnId, createdAt = now, recalledAt = createdAt, saidAt } = written
  const isDistrusted = !trust && !isUntrusted(written.label)
  return {
    content,
    tags,
    keywords,
    score: trust && !isUntrusted(written.label) ? written.score : Math.min(written.score, maxUntrustedScore),
    source: trust ? written.source : 'import',
    label: isDistrusted || hasNoSource(written.label) ? withFileSource(written.label, name) : written.label,
    // These ids are globally unique; numeric ids are valid in one home only.
    runId,
    turnId,
    taskId: isOurs ? written.taskId : null,
    resultId: isOurs ? written.resultId : null,
    narrativeId: isOurs ? written.narrativeId : null,
    createdAt: Math.min(createdAt, now),
    recalledAt: Math.min(recalledAt, now),
    saidAt: saidAt === undefined ? null : Math.min(saidAt, now),
    isArchived: written.isArchived,
    isDistrusted,
  }
}

/** Untrusted without a source. */
function hasNoSource(label: Label): boolean {
  return isUntrusted(label) && label.sources.length === 0
}

function withFileSource(label: Label, name: string): Label {
  return joinLabels([label, { integrity: 'untrusted', sources: [`file:${name}`] }])
}

/** Existing memories that look similar. */
async function similarExisting(
  store: Store,
  { content }: Draft,
  now: Millis,
  importedIds: number[],
): Promise<number[]> {
  const found = await store.read((rows) => recall(rows, content, now, maxCompared))
  const own = new Set(importedIds)
  return found
    .filter(({ memory }) => !own.has(memory.id) && looksAlike(memory.content, content))
    .map(({ memory }) => memory.id)
}
