import type { Millis } from '../../domain/clock.ts'
import type { Message } from '../../domain/message.ts'
import type { Session } from '../../domain/session.ts'
import { type Candidate, matchSessions, type SmartRoute } from '../../domain/smart-route.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { listedSessions } from '../../store/rows/session-lists.ts'
import { findThread, readMessagesOnPath } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'

/** Only the most recently used sessions are searched, and only the last turns of each. */
const maxSessions = 200
const lastTurns = 8
const maxOfOneMessage = 2000

/** Finds the session that a message belongs to by its words, in one folder or all. Asks no model. */
export async function routeSmart(
  rows: Reading,
  message: string,
  { now, ...filter }: OwnedBy & { folder?: string; now: Millis },
): Promise<SmartRoute> {
  const scope = { ...filter, kind: 'person' as const, archived: false }
  const candidates: Candidate[] = []
  for (const { session } of await listedSessions(rows, scope, { limit: maxSessions }))
    if (session.headTurnId !== null) candidates.push(await readCandidate(rows, session))
  return matchSessions(message, candidates, now)
}

async function readCandidate(rows: Reading, { folder, label, updatedAt, headTurnId }: Session): Promise<Candidate> {
  const head = headTurnId === null ? undefined : await findThread(rows, headTurnId)
  const turns = head ? await readMessagesOnPath(rows, head, Math.max(1, head.depth - lastTurns + 1)) : []
  const textOf = (messages: Message[]) => messages.map(({ content }) => content.slice(0, maxOfOneMessage)).join('\n')
  return {
    ...{ folder, label, updatedAt },
    turns: turns.map(({ queryMessages, responseMessage }) => ({
      asked: textOf(queryMessages.filter(isByPerson)),
      answered: textOf([...queryMessages.filter((message) => !isByPerson(message)), responseMessage]),
    })),
  }
}

/** Reports between agents have the role `user`, too. */
function isByPerson({ role, source = 'human' }: Message): boolean {
  return role === 'user' && source === 'human'
}
