import type { Heddle } from '../api/heddle.ts'
import type { LiveDelta } from './api.ts'
import type { EventHub } from './event-hub.ts'

const maxRuns = 100
/** Longer texts are not replayed: one alone would overflow a follower's queue. */
const maxTextLength = 256 * 1024

/** Text of model calls under way in this process, for followers that connect in the middle of one. */
export interface LiveTexts {
  /** One delta per run under way, with all text of its current model call. */
  whole(): LiveDelta[]
  stop(): void
}

export function liveTexts(heddle: Pick<Heddle, 'listen'>, hub: EventHub): LiveTexts {
  const texts = new Map<string, { call: number; text: string }>()
  const stopListening = heddle.listen((delta) => {
    if (delta.kind === 'thinking') return
    const current = texts.get(delta.runId)
    // Delete and set again: the least recently active run is then the first to be evicted.
    texts.delete(delta.runId)
    if (delta.kind === 'reset') return
    const before = current?.call === delta.call ? current.text : ''
    const isTooLong = before.length > maxTextLength
    texts.set(delta.runId, { call: delta.call, text: isTooLong ? before : before + delta.text })
    const [oldest] = texts.keys()
    if (texts.size > maxRuns && oldest !== undefined) texts.delete(oldest)
  })
  const stopEvicting = hub.listen(({ kind, subject }) => {
    if (kind === 'run.ended') texts.delete(subject.slice('run:'.length))
  })
  return {
    whole: () =>
      [...texts]
        .filter(([, { text }]) => text.length <= maxTextLength)
        .map(([runId, current]) => ({ kind: 'whole', runId, ...current })),
    stop() {
      stopListening()
      stopEvicting()
    },
  }
}
