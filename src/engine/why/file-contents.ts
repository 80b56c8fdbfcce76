import { contentOf } from '../../store/rows/file-changes.ts'
import type { FileVersion } from '../../store/rows/files/file-versions.ts'
import type { Reading } from '../../store/store.ts'
import { hashOf } from '../../tools/files/content-hash.ts'
import { editText } from '../../tools/files/edit-text.ts'
import { readEncoded } from '../../tools/files/encoded-text.ts'
import { editOfCall } from '../files/line-map.ts'
import { unpackContent } from '../files/pack-content.ts'
import { findCall } from '../run/calls/find-call.ts'

/** File contents by hash: stored when a change replaced them or a command left them, else rebuilt from the call that wrote them. */
export class FileContents {
  readonly #rows: Reading
  readonly #known = new Map<string, Buffer>()
  readonly #notStored = new Set<string>()

  constructor(rows: Reading) {
    this.#rows = rows
  }

  add(hash: string, bytes: Buffer): void {
    this.#known.set(hash, bytes)
  }

  /** `change` is the one that wrote this content. */
  async get(hash: string, change?: FileVersion): Promise<Buffer | undefined> {
    const known = this.#known.get(hash)
    if (known) return known
    const stored = this.#notStored.has(hash) ? undefined : await contentOf(this.#rows, hash)
    if (!stored) this.#notStored.add(hash)
    const bytes = stored ? await unpackContent(stored) : change && !change.command && (await this.#rebuild(change))
    if (!bytes || hashOf(bytes) !== hash) return undefined
    this.add(hash, bytes)
    return bytes
  }

  async #rebuild({ runId, callId, before }: FileVersion): Promise<Buffer | undefined> {
    const call = runId === null ? undefined : await findCall(this.#rows, runId, callId ?? '')
    const { name, input } = call ?? {}
    const { content } = (input ?? {}) as Record<string, unknown>
    if (name === 'write_file' && typeof content === 'string') return Buffer.from(content)
    const oldContent = before === null ? undefined : await this.get(before)
    const edit = call && editOfCall({ name: call.name, input })
    if (!edit || !oldContent) return undefined
    try {
      const { text, encode } = readEncoded(oldContent, '')
      return encode(editText(text, edit, ''))
    } catch {
      // The edit no longer applies: the content is unknown.
      return undefined
    }
  }
}
