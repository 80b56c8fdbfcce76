import type { Millis } from '../domain/clock.ts'
import type { Message } from '../domain/message.ts'
import { isOfAgents, type Session } from '../domain/session.ts'
import { type Candidate, matchSessions, type SmartRoute } from '../domain/smart-route.ts'
import { findSessions } from '../store/sessions.ts'
import type { Reading } from '../store/store.ts'
import { findThread, readSaid } from '../store/threads.ts'

/** However many sessions there are, only those used last are looked at, and of each only its end. */
const mostSessions = 200
const lastTurns = 8
const mostOfOneMessage = 2000

/** The session of a folder, or of all of them, that a message belongs to by its words. Asks no model. */
export async function routeSmart(
  rows: Reading,
  message: string,
  { folder, now }: { folder?: string; now: Millis },
): Promise<SmartRoute> {
  const sessions = await findSessions(rows, folder === undefined ? {} : { folder })
  const candidates: Candidate[] = []
  for (const session of sessions.filter(isTalkedTo).slice(0, mostSessions))
    candidates.push(await whatWasSaid(rows, session))
  return matchSessions(message, candidates, now)
}

/** Sessions of people: not those put away, and not those in which one agent works for another. */
function isTalkedTo({ archivedAt, headTurnId, label }: Session): boolean {
  return archivedAt === null && headTurnId !== null && !isOfAgents(label)
}

async function whatWasSaid(rows: Reading, { folder, label, updatedAt, headTurnId }: Session): Promise<Candidate> {
  const head = headTurnId === null ? undefined : await findThread(rows, headTurnId)
  const turns = head ? await readSaid(rows, head, Math.max(1, head.depth - lastTurns + 1)) : []
  // The newest first: of a long text only so many words are looked at.
  const messages = turns.toReversed().flatMap((turn) => [...turn.queryMessages, turn.responseMessage])
  const [asked = [], answered = []] = [true, false].map((byPerson) =>
    messages
      .filter((message) => isByPerson(message) === byPerson)
      .map(({ content }) => content.slice(0, mostOfOneMessage)),
  )
  return { folder, label, updatedAt, asked: asked.join('\n'), answered: answered.join('\n') }
}

/** What agents report to each other has the role of a user, too. */
function isByPerson({ role, source = 'human' }: Message): boolean {
  return role === 'user' && source === 'human'
}
