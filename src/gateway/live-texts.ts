import type { App } from '../domain/app.ts'
import type { Live } from './api.ts'
import type { EventHub } from './event-hub.ts'

const mostRuns = 100
/** What is longer would alone be too much for a follower. */
const longestText = 256 * 1024

/** What the runs of this process are saying right now, for whoever begins to listen in the middle of it. */
export interface LiveTexts {
  /** One sign for each run under way, with all that its last call has said so far. */
  whole(): Live[]
  stop(): void
}

export function liveTexts(app: Pick<App, 'listen'>, hub: EventHub): LiveTexts {
  const texts = new Map<string, { call: number; text: string }>()
  const stopListening = app.listen((sign) => {
    if (sign.kind === 'thinking') return
    const said = texts.get(sign.runId)
    // Taken out and put back: the runs that spoke last stay when there are too many.
    texts.delete(sign.runId)
    if (sign.kind === 'reset') return
    const before = said?.call === sign.call ? said.text : ''
    const isTooLong = before.length > longestText
    texts.set(sign.runId, { call: sign.call, text: isTooLong ? before : before + sign.text })
    const [oldest] = texts.keys()
    if (texts.size > mostRuns && oldest !== undefined) texts.delete(oldest)
  })
  const stopForgetting = hub.listen(({ kind, subject }) => {
    if (kind === 'run.ended') texts.delete(subject.slice('run:'.length))
  })
  return {
    whole: () =>
      [...texts]
        .filter(([, { text }]) => text.length <= longestText)
        .map(([runId, said]) => ({ kind: 'whole', runId, ...said })),
    stop() {
      stopListening()
      stopForgetting()
    },
  }
}
