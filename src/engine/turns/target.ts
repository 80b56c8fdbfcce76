import { authorize } from '../../domain/access/authorize.ts'
import { type Principal, principalText } from '../../domain/access/principal.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { mainSessionOf } from '../../domain/persona.ts'
import { parseReference } from '../../domain/reference.ts'
import { checkLabel, labelFor, type Session } from '../../domain/session.ts'
import { labelsFrom } from '../../store/rows/session-lists.ts'
import { lockSessionByLabel, sessionsAt } from '../../store/rows/sessions.ts'
import type { Reading, Tx } from '../../store/store.ts'
import { assertPersonaExists, assignMainPersona } from './persona-session.ts'
import { routeToThread } from './route.ts'

/** Whom an input is for: a session as its sender names it, and what a new one starts with. */
interface TargetInput {
  folder: string
  /** A label, `session:LABEL`, `turn:ID` or `persona:ID`. */
  target: string
  /** The persona that the session must have; a new one starts with it. */
  personaId?: string
  /** A turn that a new session starts from. */
  parentTurnId?: string
}

/** The session that an input goes to; without a session, what a new one starts with. */
interface ResolvedTarget {
  session: Session | undefined
  label: string
  personaId?: string
  parentTurnId?: string
}

/**
 * Resolves a target to a session, locked, or to a new one. `turn:ID` is the session whose head it is, in this folder and of
 * this sender; a turn that others follow gets a new session.
 */
export async function findTarget(tx: Tx, input: TargetInput, sender: Principal): Promise<ResolvedTarget> {
  const { label, headTurnId, ...start } = await locate(tx, input, sender)
  const checked = checkLabel(label)
  const found = await lockSessionByLabel(tx, input.folder, checked)
  // Another input may have moved the head before it was locked: the turn is not the last one any more.
  if (found && headTurnId !== undefined && found.headTurnId !== headTurnId) return findTarget(tx, input, sender)
  const session = found && (await assignMainPersona(tx, found))
  if (session && start.personaId !== undefined && start.personaId !== session.personaId)
    throw otherPersona(session, start.personaId)
  return { session, label: checked, ...start }
}

interface Location extends Omit<ResolvedTarget, 'session'> {
  /** The head that the session must still have when it is locked. */
  headTurnId?: string
}

async function locate(rows: Reading, input: TargetInput, sender: Principal): Promise<Location> {
  const { target, personaId, parentTurnId } = input
  const { kind, id } = parseReference(target)
  if (personaId !== undefined) await assertPersonaExists(rows, personaId)
  const start = { ...(personaId !== undefined && { personaId }), ...(parentTurnId !== undefined && { parentTurnId }) }
  switch (kind) {
    case null:
    case 'session':
      return { label: id, ...start }
    case 'persona':
      await assertPersonaExists(rows, id)
      if (personaId !== undefined && personaId !== id) throw twoPersonas(id, personaId)
      return { label: labelFor(principalText(sender), mainSessionOf(id)), ...start, personaId: id }
    case 'turn':
      if (parentTurnId !== undefined) throw twoTurns(target)
      return { ...start, ...(await locateTurn(rows, id, input, sender)) }
    default:
      throw new UsageError(
        `${target} is not a session`,
        'use a label, session:LABEL, turn:ID or persona:ID',
        'wrong_kind',
      )
  }
}

async function locateTurn(
  rows: Reading,
  id: string,
  { folder, personaId }: TargetInput,
  sender: Principal,
): Promise<Location> {
  const thread = await routeToThread(rows, `turn:${id}`, folder)
  const { turnId, segmentId } = thread
  const isUsable = (session: Session) =>
    session.folder === folder &&
    session.kind !== 'narrator' &&
    (personaId === undefined || session.personaId === personaId) &&
    authorize(sender, 'run.ask', { principal: session.principalId })
  const heads = (await sessionsAt(rows, thread)).filter(isUsable)
  // Forks that have written nothing yet have the same head: the session that wrote the turn comes first.
  const head = heads.find((session) => session.segmentId === segmentId) ?? heads[0]
  if (head) return { label: head.label, headTurnId: turnId }
  return { label: await freeLabel(rows, folder, forkLabel(turnId, principalText(sender))), parentTurnId: turnId }
}

/** Label of a fork that its sender gave none. */
export function forkLabel(turnId: string, principal: string): string {
  return labelFor(principal, `fork-${shortId(turnId)}`)
}

/** The label itself, or the first of label-2, label-3, … that no session of the folder has. */
export async function freeLabel(rows: Reading, folder: string, label: string): Promise<string> {
  const taken = new Set(await labelsFrom(rows, folder, label))
  if (!taken.has(label)) return label
  for (let number = 2; ; number++) if (!taken.has(`${label}-${number}`)) return `${label}-${number}`
}

function otherPersona({ label, personaId, headTurnId }: Session, wanted: string): HeddleError {
  const has = personaId === null ? 'no persona' : `the persona ${personaId}`
  return new HeddleError(
    'persona_differs',
    `session "${label}" has ${has}; you named ${wanted}`,
    headTurnId === null
      ? 'give a new label to start a session with that persona'
      : `heddle fork turn:${shortId(headTurnId)} --persona ${wanted}`,
  )
}

function twoPersonas(one: string, other: string): UsageError {
  return new UsageError(`persona:${one} and ${other} are two personas`, 'name one of them', 'bad_target')
}

function twoTurns(target: string): UsageError {
  return new UsageError(`${target} names the turn already`, 'leave out the other one', 'bad_target')
}
