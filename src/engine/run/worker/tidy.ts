import type { Millis } from '../../../domain/clock.ts'
import type { Session } from '../../../domain/session.ts'
import { recordEvent } from '../../../store/rows/events.ts'
import { waitingItems } from '../../../store/rows/inbox.ts'
import { countLiveChildren, hasOpenJoin } from '../../../store/rows/joins.ts'
import { resultOf } from '../../../store/rows/results.ts'
import { liveRunOf } from '../../../store/rows/runs.ts'
import { lockSession, setArchived } from '../../../store/rows/sessions.ts'
import { findSubagentRun, markRemoved, nextTidy, sessionsToTidy, setTidy } from '../../../store/rows/subagents/tidy.ts'
import type { Reading, Tx } from '../../../store/store.ts'
import type { Engine } from '../../runtime.ts'
import type { DueSource } from './due.ts'
import { removeTranscript } from './remove-transcript.ts'

/** Sessions that one look tidies up; the next look follows at once. */
const perLook = 50

/** Pause before a session that is at work again is looked at once more. */
const lookAgainAfter: Millis = 60_000

/** Archives sessions of sub-agents that ended some time ago, and removes transcripts that no run needs any more. */
export function tidySessions(engine: Engine): DueSource {
  const { store } = engine
  return {
    next: (rows) => nextTidy(rows),
    async handle(now) {
      for (const id of await store.read((rows) => sessionsToTidy(rows, now, perLook))) await tidy(engine, id, now)
    },
  }
}

async function tidy(engine: Engine, sessionId: string, now: Millis): Promise<void> {
  const removed = await engine.store.write('tidy', async (tx) => {
    const session = await lockSession(tx, sessionId)
    if (!session) return undefined
    if (await isBusy(tx, sessionId)) return setTidy(tx, sessionId, now + lookAgainAfter)
    const isRemoved = await isToRemove(tx, sessionId)
    if (isRemoved) await removeTranscript(tx, session)
    if (isRemoved) await markRemoved(tx, sessionId, now)
    else await setTidy(tx, sessionId, null)
    if (session.archivedAt === null) await archiveSession(tx, session, now)
    return isRemoved ? session : undefined
  })
  if (removed) engine.paths.drop(removed.segmentId)
}

/** Whether something goes on in a session, or may still be delivered to it. */
async function isBusy(rows: Reading, id: string): Promise<boolean> {
  if (await liveRunOf(rows, id)) return true
  if (await hasOpenJoin(rows, id)) return true
  return (await countLiveChildren(rows, id)) > 0 || (await waitingItems(rows, id)).some(({ wake }) => wake)
}

/** Whether the spawn asked for it, and the result was read: nothing depends on the transcript then. */
async function isToRemove(rows: Reading, sessionId: string): Promise<boolean> {
  const run = await findSubagentRun(rows, sessionId)
  if (run?.subagent?.cleanup !== 'delete') return false
  return (await resultOf(rows, run.id))?.processed === true
}

async function archiveSession(tx: Tx, session: Session, now: Millis): Promise<void> {
  await setArchived(tx, session, now)
  await recordEvent(tx, {
    at: now,
    kind: 'session.archived',
    subject: `session:${session.label}`,
    payload: { folder: session.folder },
    scope: { sessionId: session.id, rootRunId: null },
  })
}
