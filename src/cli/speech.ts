import type { Live } from '../gateway/api.ts'
import { printable } from './screen.ts'

/** What runs are saying right now, put together from the signs of it. */
export class Speech {
  readonly #said = new Map<string, { call: number; text: string; thinking: string }>()

  hear(sign: Live): void {
    const before = this.#said.get(sign.runId)
    const said = before?.call === sign.call ? before : { call: sign.call, text: '', thinking: '' }
    this.#said.set(sign.runId, said)
    if (sign.kind === 'reset') this.#said.delete(sign.runId)
    else if (sign.kind === 'whole') said.text = sign.text
    else said[sign.kind] += sign.text
  }

  /** The durable words have come, or there will be none. */
  forget(runId: string): void {
    this.#said.delete(runId)
  }

  /** What a run has said of its answer, else what it is thinking. */
  of(runId: string): string {
    const said = this.#said.get(runId)
    const text = said?.text || said?.thinking || ''
    // A tab is as wide as its place makes it, and the pane must know.
    return printable(text.trimEnd(), { lines: true }).replaceAll('\t', '  ')
  }
}
