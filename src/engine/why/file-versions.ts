import { contentOf, type StoredFileChange } from '../../store/rows/file-changes.ts'
import type { Reading } from '../../store/store.ts'
import { hashOf } from '../../tools/files/content-hash.ts'
import { editText } from '../../tools/files/edit-text.ts'
import { readEncoded } from '../../tools/files/encoded-text.ts'
import { decodeText } from '../../tools/files/text-kind.ts'
import { unpackContent } from '../files/kept-content.ts'
import { type AttributedText, attributeLines, linesIn } from '../files/line-authors.ts'
import { findCall } from '../run/find-call.ts'

/**
 * Author of a line: a run's change; `before` the first recorded change; `outside` heddle; or `unknown`, if the versions in
 * between are not stored.
 */
export type LineAuthor = StoredFileChange | 'before' | 'outside' | 'unknown'

/** A file's lines with their authors, and its hash; null for no file. */
export interface FileState extends AttributedText<LineAuthor> {
  hash: string | null
}

const nothing: FileState = { hash: null, lines: [], authors: [] }

/**
 * Replays a file's changes, oldest first, up to its current content; undefined if that is not text. Undone changes are
 * skipped, and so are changes that were stored but never made: the next one starts from the same version.
 */
export async function replay(
  contents: FileContents,
  changes: readonly StoredFileChange[],
  now: { sha256: string; bytes: Buffer } | undefined,
): Promise<FileState | undefined> {
  if (now && decodeText(now.bytes) === undefined) return undefined
  const states = new Map<string | null, FileState>([[null, nothing]])
  let state: FileState | undefined
  let isLost = false
  const become = async (hash: string | null, author: LineAuthor, of?: StoredFileChange) => {
    const known = states.get(hash)
    const bytes = hash === null || known ? undefined : await contents.get(hash, of)
    // A version that is not stored may have added any line of the next one.
    const lineAuthor = isLost ? 'unknown' : author
    isLost = !known && !bytes
    if (known) state = known
    else if (!bytes) state = { ...(state ?? nothing), hash }
    else state = { hash, ...attributeLines(state ?? nothing, linesIn(decodeText(bytes) ?? ''), lineAuthor) }
    if (!isLost) states.set(hash, state)
  }
  for (const change of changes) {
    if (change.undoneAt !== null) continue
    const isUndo = change.runId === null
    const between = state === undefined ? 'before' : 'outside'
    if (!isUndo && change.before !== (state?.hash ?? null)) await become(change.before, between)
    await become(change.after, isUndo ? between : change, change)
  }
  if (now) contents.add(now.sha256, now.bytes)
  const left = now?.sha256 ?? null
  if (left !== (state?.hash ?? null)) await become(left, state ? 'outside' : 'before')
  return state ?? nothing
}

/** File contents by hash: stored when a change replaced them, else rebuilt from the call that wrote them. */
export class FileContents {
  readonly #rows: Reading
  readonly #known = new Map<string, Buffer>()

  constructor(rows: Reading) {
    this.#rows = rows
  }

  add(hash: string, bytes: Buffer): void {
    this.#known.set(hash, bytes)
  }

  /** `change` is the one that wrote this content. */
  async get(hash: string, change?: StoredFileChange): Promise<Buffer | undefined> {
    const known = this.#known.get(hash)
    if (known) return known
    const kept = await contentOf(this.#rows, hash)
    const bytes = kept ? await unpackContent(kept) : change && (await this.#rebuild(change))
    if (!bytes || hashOf(bytes) !== hash) return undefined
    this.add(hash, bytes)
    return bytes
  }

  async #rebuild({ runId, callId, before }: StoredFileChange): Promise<Buffer | undefined> {
    const call = runId === null ? undefined : await findCall(this.#rows, runId, callId ?? '')
    const { name, input } = call ?? {}
    const { content, old_text, new_text, all } = (input ?? {}) as Record<string, unknown>
    if (name === 'write_file' && typeof content === 'string') return Buffer.from(content)
    const held = before === null ? undefined : await this.get(before)
    if (name !== 'edit_file' || !held || typeof old_text !== 'string' || typeof new_text !== 'string') return undefined
    try {
      const { text, encode } = readEncoded(held, '')
      return encode(editText(text, { old: old_text, new: new_text, all: all === true }, ''))
    } catch {
      // The edit no longer applies: the content is unknown.
      return undefined
    }
  }
}
