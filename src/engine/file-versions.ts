import { contentOf, type KeptChange } from '../store/file-changes.ts'
import type { Reading } from '../store/store.ts'
import { hashOf } from '../tools/change-file.ts'
import { editText } from '../tools/edit-text.ts'
import { readEncoded } from '../tools/encoded-text.ts'
import { textOf } from '../tools/text-kind.ts'
import { callNamed } from './call-named.ts'
import { unpackContent } from './kept-content.ts'
import { type Authored, carryOn, linesIn } from './line-authors.ts'

/**
 * Whose a line is: a change by a run; `before` the first change that is kept; `outside` heddle; or nobody knows, since
 * what the file held in between is not kept.
 */
export type LineAuthor = KeptChange | 'before' | 'outside' | 'unknown'

/** A file's lines with their authors, and its hash; null for no file. */
export interface FileState extends Authored<LineAuthor> {
  hash: string | null
}

const nothing: FileState = { hash: null, lines: [], authors: [] }

/**
 * Goes through a file's changes, oldest first, up to what it holds now; undefined when that is no text. A change that
 * was undone does not count, and neither does one whose file was never touched: the next one begins where that began.
 */
export async function replay(
  contents: FileContents,
  changes: readonly KeptChange[],
  now: { sha256: string; bytes: Buffer } | undefined,
): Promise<FileState | undefined> {
  if (now && textOf(now.bytes) === undefined) return undefined
  const states = new Map<string | null, FileState>([[null, nothing]])
  let state: FileState | undefined
  let isLost = false
  const become = async (hash: string | null, author: LineAuthor, of?: KeptChange) => {
    const known = states.get(hash)
    const bytes = hash === null || known ? undefined : await contents.get(hash, of)
    // What cannot be looked at may have written any line of the next version.
    const whose = isLost ? 'unknown' : author
    isLost = !known && !bytes
    if (known) state = known
    else if (!bytes) state = { ...(state ?? nothing), hash }
    else state = { hash, ...carryOn(state ?? nothing, linesIn(textOf(bytes) ?? ''), whose) }
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

/** What a file held, by its hash: kept when a change took it away, else made again from the call that wrote it. */
export class FileContents {
  readonly #rows: Reading
  readonly #known = new Map<string, Buffer>()

  constructor(rows: Reading) {
    this.#rows = rows
  }

  add(hash: string, bytes: Buffer): void {
    this.#known.set(hash, bytes)
  }

  /** `change` is the one that left it so. */
  async get(hash: string, change?: KeptChange): Promise<Buffer | undefined> {
    const known = this.#known.get(hash)
    if (known) return known
    const kept = await contentOf(this.#rows, hash)
    const bytes = kept ? await unpackContent(kept) : change && (await this.#madeAgain(change))
    if (!bytes || hashOf(bytes) !== hash) return undefined
    this.add(hash, bytes)
    return bytes
  }

  async #madeAgain({ runId, callId, before }: KeptChange): Promise<Buffer | undefined> {
    const call = runId === null ? undefined : await callNamed(this.#rows, runId, callId ?? '')
    const { name, input } = call ?? {}
    const { content, old_text, new_text, all } = (input ?? {}) as Record<string, unknown>
    if (name === 'write_file' && typeof content === 'string') return Buffer.from(content)
    const held = before === null ? undefined : await this.get(before)
    if (name !== 'edit_file' || !held || typeof old_text !== 'string' || typeof new_text !== 'string') return undefined
    try {
      const { text, encode } = readEncoded(held, '')
      return encode(editText(text, { old: old_text, new: new_text, all: all === true }, ''))
    } catch {
      // What was written then cannot be written now: nobody knows what it was.
      return undefined
    }
  }
}
