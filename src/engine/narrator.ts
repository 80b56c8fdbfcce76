import type { Millis } from '../domain/clock.ts'
import { isOfAgents, type Session, tellingLabel } from '../domain/session.ts'
import { narratingIn } from '../store/narratives.ts'
import { sessionsSince } from '../store/sessions.ts'
import { type News, newsOf } from './narrative-news.ts'
import { narratorName } from './role.ts'
import type { Accepted, Submission } from './submit.ts'
import type { World } from './world.ts'

const lookEvery: Millis = 10_000
/** Where many talks come to rest at once, they are looked at together. */
const lookAgainAfter: Millis = 500
/** Talks that ended before this process began are told of if they are not older than this. */
const lookBack: Millis = 3_600_000
/** Rows of other processes may come to light a little after their time. */
const slack: Millis = 5000
const timeoutMs: Millis = 120_000
/** Whatever anybody waits for comes first. */
const priority = -1

export interface NarratorOptions {
  /** Takes a telling in; the worker of this process begins it at once when it can. */
  submit(input: Submission): Promise<Accepted>
  /** Only this folder's. */
  folder?: string
  /** The talk that this process is there for: only its telling is waited for. */
  sessionId?: string
  /** Ends a telling that takes too long. */
  cancel(runId: string, reason: string): Promise<unknown>
  /** Another model than the usual one. */
  model?: string
  onTrouble(error: unknown): void
}

/** After the turns of a talk, has somebody tell where it stands. */
export interface Narrator {
  /** Resolves when nothing is left to tell in this folder, or nothing goes on by itself, or the signal comes. */
  atRest(folder: string, signal: AbortSignal): Promise<void>
  /** Ends what was waited for and took too long, so that nobody waits for it again. */
  giveUp(folder: string): Promise<void>
  stop(): Promise<void>
}

/**
 * Looks at sessions whose talk has come to rest, and hands what is new of them to the narrator: a run like any other,
 * with a session, a cost and an end of its own. The rows tell what is new, so whatever a process that died had seen, the
 * next one sees; two that look at once hand in the same thing once.
 */
export function startNarrator(world: World, options: NarratorOptions): Narrator {
  const { store, clock } = world
  const stopped = new AbortController()
  /** By session, the head up to which there is nothing to do any more. */
  const done = new Map<string, string | null>()
  let since = clock.now() - lookBack
  let looking: Promise<void> = Promise.resolve()
  let stir = new AbortController()
  const stopListening = store.onHint((hint) => {
    if (hint.startsWith('ended:')) stir.abort()
  })
  const look = () => {
    looking = looking.then(lookOnce).catch(options.onTrouble)
    return looking
  }
  const over = (async () => {
    while (!stopped.signal.aborted) {
      stir = new AbortController()
      await look()
      await clock.sleep(lookAgainAfter, stopped.signal)
      await clock.sleep(lookEvery, AbortSignal.any([stir.signal, stopped.signal]))
    }
  })()
  return {
    async atRest(folder, signal) {
      const until = AbortSignal.any([signal, stopped.signal])
      for (;;) {
        const ended = new AbortController()
        const stop = store.onHint(() => ended.abort())
        await look()
        const isBusy = !until.aborted && (await awaited(folder)).length > 0
        if (isBusy) await clock.sleep(lookEvery, AbortSignal.any([ended.signal, until]))
        stop()
        if (!isBusy) return
      }
    },
    async giveUp(folder) {
      for (const runId of await awaited(folder)) await options.cancel(runId, 'telling where things stand took too long')
    },
    async stop() {
      stopListening()
      stopped.abort()
      await over
      await looking
    },
  }

  function awaited(folder: string): Promise<string[]> {
    const label = options.sessionId === undefined ? undefined : tellingLabel(options.sessionId)
    return store.read((rows) => narratingIn(rows, folder, label))
  }

  async function lookOnce(): Promise<void> {
    const moved = await candidates()
    const busy: Session[] = []
    for (const session of moved) {
      if (stopped.signal.aborted) return
      const news = await store.read((rows) => newsOf(rows, session, { inHaste: options.folder !== undefined }))
      if (news === 'busy') {
        busy.push(session)
        continue
      }
      if (news) await hand(session, news)
      done.set(session.id, session.headTurnId)
    }
    // What is under way is looked at again, whether it moves or not.
    since = Math.min(Math.max(since, ...moved.map(movedAt)), ...busy.map(movedAt))
  }

  async function candidates(): Promise<Session[]> {
    const found = await store.read((rows) => sessionsSince(rows, since - slack, options.folder))
    return found.filter(
      ({ id, label, headTurnId, archivedAt }) =>
        !isOfAgents(label) && archivedAt === null && headTurnId !== null && done.get(id) !== headTurnId,
    )
  }

  async function hand(session: Session, { turnId, before, text, label, memoryIds }: News): Promise<void> {
    await options.submit({
      folder: session.folder,
      label: tellingLabel(session.id),
      content: text,
      source: 'event',
      trust: label,
      via: 'narrator',
      agent: narratorName,
      priority,
      timeoutMs,
      ...(options.model !== undefined && { model: options.model }),
      dedupeKey: `narrative:${turnId}`,
      tells: {
        sessionId: session.id,
        topic: session.label,
        turnId,
        previousId: before?.narrative.id ?? null,
        memoryIds,
      },
    })
  }
}

function movedAt({ updatedAt }: Session): Millis {
  return updatedAt
}
