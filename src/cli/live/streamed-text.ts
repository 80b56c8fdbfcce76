import type { LiveDelta } from '../../gateway/api.ts'
import { printable } from '../terminal/screen.ts'

/** Text that runs are streaming, assembled from deltas. */
export class StreamedText {
  readonly #texts = new Map<string, { call: number; text: string; thinking: string }>()

  apply(delta: LiveDelta): void {
    const before = this.#texts.get(delta.runId)
    const current = before?.call === delta.call ? before : { call: delta.call, text: '', thinking: '' }
    this.#texts.set(delta.runId, current)
    if (delta.kind === 'reset') this.#texts.delete(delta.runId)
    else if (delta.kind === 'whole') current.text = delta.text
    else current[delta.kind] += delta.text
  }

  /** Drops the text of a run: its final answer is stored, or there will be none. */
  forget(runId: string): void {
    this.#texts.delete(runId)
  }

  /** The answer of a run so far, else its thinking. */
  of(runId: string): string {
    const current = this.#texts.get(runId)
    const text = current?.text || current?.thinking || ''
    // The width of a tab depends on its column, which the pane cannot measure.
    return printable(text.trimEnd(), { lines: true }).replaceAll('\t', '  ')
  }
}
