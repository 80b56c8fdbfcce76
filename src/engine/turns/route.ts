import { HeddleError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { mainSessionOf } from '../../domain/persona.ts'
import { parseReference } from '../../domain/reference.ts'
import type { Session } from '../../domain/session.ts'
import type { Thread } from '../../domain/turn.ts'
import { idsLike } from '../../store/rows/id-tails.ts'
import { findSessions, sessionsAt, sessionsWithLabel } from '../../store/rows/sessions.ts'
import { findThread, turnIdAt } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { assertPersonaExists } from './persona-session.ts'

const idPart = /^[0-9a-hjkmnp-tv-z]{3,20}$/
const keyPattern = /^([0-9a-hjkmnp-tv-z]{20})\/(\d{1,9})$/

/** Resolves a reference to a turn, session or persona to a thread. */
export async function routeToThread(rows: Reading, text: string, folder: string): Promise<Thread> {
  const { kind, id } = parseReference(text)
  switch (kind) {
    case 'turn':
      return (await threadOfTurn(rows, id)) ?? Promise.reject(notFound('turn', id))
    case 'session':
      return headThread(rows, await resolveSession(rows, id, folder))
    case 'persona':
      return headThread(rows, await mainSession(rows, id, folder))
    case null: {
      const session = await findSession(rows, id, folder)
      if (session) return headThread(rows, session)
      return (await threadOfTurn(rows, id)) ?? Promise.reject(notFound('session or turn', id))
    }
    default:
      throw notASession(text)
  }
}

/** The last turn of the session with this label in this folder; undefined if it has not begun. */
export async function headOf(rows: Reading, label: string, folder: string): Promise<Thread | undefined> {
  const [session] = await findSessions(rows, { label: label.normalize('NFC'), folder })
  return session?.headTurnId ? findThread(rows, session.headTurnId) : undefined
}

/** The session with this label in this folder, else the only one with that label anywhere. */
export async function resolveSession(rows: Reading, text: string, folder: string): Promise<Session> {
  const { kind, id } = parseReference(text)
  if (kind === 'persona') return mainSession(rows, id, folder)
  if (kind === 'turn') return sessionAtTurn(rows, id, folder)
  if (kind !== null && kind !== 'session') throw notASession(text)
  const session = await findSession(rows, id, folder)
  if (!session) throw notFound('session', id)
  return session
}

/** The session whose head this turn is: this folder's before others, and the one that wrote it before its forks. */
async function sessionAtTurn(rows: Reading, id: string, folder: string): Promise<Session> {
  const thread = await routeToThread(rows, `turn:${id}`, folder)
  const heads = (await sessionsAt(rows, thread)).filter(({ kind }) => kind !== 'narrator')
  const here = heads.filter((session) => session.folder === folder)
  const [first] = [...here, ...heads].sort(
    (one, other) => Number(other.segmentId === thread.segmentId) - Number(one.segmentId === thread.segmentId),
  )
  if (first) return first
  const turn = `turn:${shortId(thread.turnId)}`
  throw new HeddleError('not_head', `${turn} is not the last turn of a session`, `start one there: heddle fork ${turn}`)
}

function notASession(text: string): HeddleError {
  return new HeddleError(
    'wrong_kind',
    `${text} is neither a turn nor a session`,
    'use a label, session:LABEL, turn:ID or persona:ID',
  )
}

async function findSession(rows: Reading, label: string, folder: string): Promise<Session | undefined> {
  const wanted = label.normalize('NFC')
  const [here] = await findSessions(rows, { label: wanted, folder })
  const matches = here ? [here] : await sessionsWithLabel(rows, wanted)
  if (matches.length > 1)
    throw new HeddleError(
      'ambiguous',
      `several folders have a session "${label}": ${matches.map((session) => session.folder).join(', ')}`,
      'run the command in the folder you mean',
    )
  return matches[0]
}

async function mainSession(rows: Reading, personaId: string, folder: string): Promise<Session> {
  await assertPersonaExists(rows, personaId)
  return resolveSession(rows, `session:${mainSessionOf(personaId)}`, folder)
}

async function headThread(rows: Reading, session: Session): Promise<Thread> {
  const thread = session.headTurnId === null ? undefined : await findThread(rows, session.headTurnId)
  if (thread) return thread
  throw new HeddleError(
    'session_empty',
    `session "${session.label}" has no turn yet`,
    `add one with: heddle append -s ${session.label} --user "…" --assistant "…"`,
  )
}

async function threadOfTurn(rows: Reading, id: string): Promise<Thread | undefined> {
  const key = keyPattern.exec(id)
  if (key) {
    const turnId = await turnIdAt(rows, key[1] ?? '', Number(key[2]))
    return turnId === undefined ? undefined : findThread(rows, turnId)
  }
  if (!idPart.test(id)) return undefined
  const exact = await findThread(rows, id)
  if (exact) return exact
  const [only, ...others] = await idsLike(rows, 'turns', id)
  if (others.length > 0 && only)
    throw new HeddleError(
      'ambiguous',
      `"${id}" fits several turns: ${[only, ...others].map((turn) => `turn:${turn}`).join(', ')}`,
      'write more of the id',
    )
  return only === undefined ? undefined : findThread(rows, only)
}

const lists = {
  approval: 'heddle approvals',
  input: 'heddle ps --all',
  job: 'heddle cron list',
  memory: 'heddle memory',
  plan: 'heddle plans',
  result: 'heddle results',
  run: 'heddle ps --all',
  session: 'heddle sessions --all',
  'session of run': 'heddle sessions --all',
  'session or turn': 'heddle sessions, heddle log --all',
  'session, turn or run': 'heddle sessions, heddle log --all, heddle ps --all',
  task: 'heddle tasks',
  turn: 'heddle log --all',
} as const

/** A not-found error whose remedy is the command that lists such things. */
export function notFound(what: keyof typeof lists, id: string): HeddleError {
  return new HeddleError('not_found', `there is no ${what} "${id}" here`, `list them with: ${lists[what]}`)
}
