import type { LiveDelta } from '../api/wire.ts'

/** Text of a model call that is under way. */
export interface RunText {
  call: number
  text: string
}

/** Drawing each delta takes three times as much as drawing what came in 50 ms. */
const flushAfter = 50

/** Streamed text of running model calls, by run. */
export class RunTexts {
  readonly #texts = new Map<string, RunText>()
  /** Changed since the last flush; null for what was voided. */
  readonly #changed = new Map<string, RunText | null>()
  readonly #listeners = new Map<string, Set<() => void>>()
  /** Runs that have ended while their text is on the screen. */
  readonly #ended = new Set<string>()
  #timer: number | undefined

  add(delta: LiveDelta): void {
    if (delta.kind === 'thinking') return
    this.#changed.set(delta.runId, nextText(this.#newest(delta.runId), delta))
    this.#timer ??= window.setTimeout(() => this.#flush(), flushAfter)
  }

  /** The run has ended: its turn has the text, which stays here as long as it is on the screen. */
  end(runId: string): void {
    if (this.#listeners.has(runId)) this.#ended.add(runId)
    else this.#forget(runId)
  }

  get(runId: string): RunText | undefined {
    return this.#texts.get(runId)
  }

  /** All of it, for a tab that has just been opened. */
  whole(): LiveDelta[] {
    const running = [...this.#texts].filter(([runId]) => !this.#ended.has(runId))
    return running.map(([runId, text]) => ({ kind: 'whole', runId, ...text }))
  }

  subscribe(runId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set()
    this.#listeners.set(runId, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0) return
      this.#listeners.delete(runId)
      if (this.#ended.delete(runId)) this.#forget(runId)
    }
  }

  #forget(runId: string): void {
    this.#texts.delete(runId)
    this.#changed.delete(runId)
  }

  #newest(runId: string): RunText | undefined {
    const changed = this.#changed.get(runId)
    return changed === undefined ? this.#texts.get(runId) : (changed ?? undefined)
  }

  #flush(): void {
    this.#timer = undefined
    const changed = [...this.#changed]
    this.#changed.clear()
    for (const [runId, text] of changed) {
      if (text === null) this.#texts.delete(runId)
      else this.#texts.set(runId, text)
    }
    for (const [runId] of changed) for (const listener of this.#listeners.get(runId) ?? []) listener()
  }
}

function nextText(before: RunText | undefined, delta: Exclude<LiveDelta, { kind: 'thinking' }>): RunText | null {
  if (delta.kind === 'reset') return null
  const { call } = delta
  if (delta.kind === 'whole') return { call, text: delta.text }
  return { call, text: (before?.call === call ? before.text : '') + delta.text }
}
