import type { Millis } from '../../domain/clock.ts'
import { narratorLabel, type Session } from '../../domain/session.ts'
import { activeNarratorRunIds } from '../../store/knowledge/narratives.ts'
import { sessionsSince } from '../../store/rows/sessions.ts'
import { narratorName } from '../model/role.ts'
import type { AcceptedInput, Submission } from '../run/submit.ts'
import type { Runtime } from '../runtime.ts'
import { findNews, type News } from './narrative-news.ts'

const pollInterval: Millis = 10_000
/** Min time between two polls, so that sessions that go idle together are handled together. */
const minPollInterval: Millis = 500
/** How far before the start of this process sessions are still narrated. */
const lookBack: Millis = 3_600_000
/** Rows of other processes may become visible a little after their timestamp. */
const slack: Millis = 5000
const timeoutMs: Millis = 120_000
/** Below every run that a user waits for. */
const priority = -1

interface NarratorOptions {
  /** Submits a narration; this process's worker starts it at once if it can. */
  submit(input: Submission): Promise<AcceptedInput>
  /** Only sessions of this folder. */
  folder?: string
  /** The session of this process: `whenIdle` waits only for its narration. */
  sessionId?: string
  /** Cancels a narration that takes too long. */
  cancel(runId: string, reason: string): Promise<unknown>
  /** Model to use instead of the default. */
  model?: string
  onError(error: unknown): void
}

/** Background job that writes a narrative after the turns of a session. */
export interface Narrator {
  /** Resolves when no narration is pending in this folder, or when the signal aborts. */
  whenIdle(folder: string, signal: AbortSignal): Promise<void>
  /** Cancels pending narrations of a folder, so that the next process does not wait for them again. */
  cancelPending(folder: string): Promise<void>
  stop(): Promise<void>
}

/**
 * Polls for idle sessions and submits what is new in them to the narrator: a run like any other, with its own session and
 * cost. All state is in the rows, so another process carries on after a crash; the dedupe key makes two processes submit
 * once.
 */
export function startNarrator(runtime: Runtime, options: NarratorOptions): Narrator {
  const { store, clock } = runtime
  const stopped = new AbortController()
  /** Head turn up to which each session is done. */
  const done = new Map<string, string | null>()
  let since = clock.now() - lookBack
  let polling: Promise<void> = Promise.resolve()
  let wakeUp = new AbortController()
  const stopListening = store.onHint((hint) => {
    if (hint.startsWith('ended:')) wakeUp.abort()
  })
  const poll = () => {
    polling = polling.then(pollOnce).catch(options.onError)
    return polling
  }
  const over = (async () => {
    while (!stopped.signal.aborted) {
      wakeUp = new AbortController()
      await poll()
      await clock.sleep(minPollInterval, stopped.signal)
      await clock.sleep(pollInterval, AbortSignal.any([wakeUp.signal, stopped.signal]))
    }
  })()
  return {
    async whenIdle(folder, signal) {
      const until = AbortSignal.any([signal, stopped.signal])
      for (;;) {
        const ended = new AbortController()
        const stop = store.onHint(() => ended.abort())
        await poll()
        const isBusy = !until.aborted && (await pendingRuns(folder)).length > 0
        if (isBusy) await clock.sleep(pollInterval, AbortSignal.any([ended.signal, until]))
        stop()
        if (!isBusy) return
      }
    },
    async cancelPending(folder) {
      for (const runId of await pendingRuns(folder))
        await options.cancel(runId, 'writing the session summary took too long')
    },
    async stop() {
      stopListening()
      stopped.abort()
      await over
      await polling
    },
  }

  function pendingRuns(folder: string): Promise<string[]> {
    return store.read((rows) => activeNarratorRunIds(rows, folder, options.sessionId))
  }

  async function pollOnce(): Promise<void> {
    const moved = await candidates()
    const busy: Session[] = []
    for (const session of moved) {
      if (stopped.signal.aborted) return
      const news = await store.read((rows) =>
        findNews(rows, session, {
          inHaste: options.folder !== undefined,
          markSecrets: (text) => runtime.markSecrets?.(text) ?? text,
        }),
      )
      if (news === 'busy') {
        busy.push(session)
        continue
      }
      if (news) await submitNarration(session, news)
      done.set(session.id, session.headTurnId)
    }
    // Busy sessions are polled again, whether they change or not.
    since = Math.min(Math.max(since, ...moved.map(movedAt)), ...busy.map(movedAt))
  }

  async function candidates(): Promise<Session[]> {
    const found = await store.read((rows) => sessionsSince(rows, since - slack, options.folder))
    return found.filter(
      ({ id, kind, headTurnId, archivedAt }) =>
        kind === 'person' && archivedAt === null && headTurnId !== null && done.get(id) !== headTurnId,
    )
  }

  async function submitNarration(session: Session, news: News): Promise<void> {
    const { turnId, before, text, label, memoryIds, taskIds, models } = news
    await options.submit({
      folder: session.folder,
      label: narratorLabel(session.id),
      content: runtime.markSecrets?.(text) ?? text,
      source: 'event',
      trust: label,
      via: 'narrator',
      agent: narratorName,
      priority,
      timeoutMs,
      ...(options.model !== undefined && { model: options.model }),
      ...(models && { ceiling: { models } }),
      dedupeKey: `narrative:${turnId}`,
      tells: {
        sessionId: session.id,
        topic: session.label,
        turnId,
        previousId: before?.narrative.id ?? null,
        memoryIds,
        taskIds,
      },
    })
  }
}

function movedAt({ updatedAt }: Session): Millis {
  return updatedAt
}
