import type { SessionView } from '../domain/app.ts'
import { Misuse } from '../domain/errors.ts'
import type { EventKind } from '../domain/event.ts'
import { mainSessionOf, type Persona, personaPattern } from '../domain/persona.ts'
import { checkLabel, labelOfPeople, type Session } from '../domain/session.ts'
import { recordEvent } from '../store/events.ts'
import { putPersona } from '../store/personas.ts'
import { findSessions, givePersona, lockSession, renameSession, setArchived } from '../store/sessions.ts'
import type { Reading, Tx } from '../store/store.ts'
import { findThread } from '../store/threads.ts'
import { notFound, sessionNamed } from './route.ts'
import type { World } from './world.ts'

/** Sessions, the last used first. */
export async function listSessions(rows: Reading, filter: { folder?: string } = {}): Promise<SessionView[]> {
  return Promise.all((await findSessions(rows, filter)).map((session) => viewSession(rows, session)))
}

export async function viewSession(rows: Reading, session: Session): Promise<SessionView> {
  const head = session.headTurnId === null ? undefined : await findThread(rows, session.headTurnId)
  return {
    label: session.label,
    folder: session.folder,
    headTurnId: session.headTurnId,
    depth: head?.depth ?? 0,
    persona: session.personaId,
    updatedAt: new Date(session.updatedAt).toISOString(),
    archived: session.archivedAt !== null,
  }
}

export function rename(world: World, folder: string, name: string, label: string): Promise<SessionView> {
  const wanted = labelOfPeople(checkLabel(label))
  return change(world, folder, name, 'session.renamed', { label: wanted }, (tx, session) =>
    renameSession(tx, session, wanted, world.clock.now()),
  )
}

/** Archived sessions keep every turn; they only leave the list. */
export function archive(world: World, folder: string, name: string, archived: boolean): Promise<SessionView> {
  const kind = archived ? 'session.archived' : 'session.restored'
  return change(world, folder, name, kind, {}, (tx, session) =>
    setArchived(tx, session, archived ? world.clock.now() : null),
  )
}

export async function setPersona(world: World, persona: Persona): Promise<void> {
  if (!personaPattern.test(persona.id))
    throw new Misuse(
      `"${persona.id}" cannot be a persona's id`,
      'use 1 to 32 small letters, digits, _ and -, beginning with a letter or digit',
      'bad_persona',
    )
  await world.store.write('persona', async (tx) => {
    await putPersona(tx, persona, world.clock.now())
    await givePersona(tx, mainSessionOf(persona.id), persona.id)
  })
}

async function change(
  world: World,
  folder: string,
  name: string,
  kind: EventKind,
  payload: Record<string, unknown>,
  act: (tx: Tx, session: Session) => Promise<void>,
): Promise<SessionView> {
  return world.store.write('session', async (tx) => {
    const { id } = await sessionNamed(tx, name, folder)
    const session = await lockSession(tx, id)
    if (!session) throw notFound('session', name)
    await act(tx, session)
    await recordEvent(tx, {
      at: world.clock.now(),
      kind,
      subject: `session:${session.label}`,
      payload: { folder: session.folder, ...payload },
    })
    const [after] = (await findSessions(tx, { folder: session.folder })).filter((other) => other.id === id)
    return viewSession(tx, after ?? session)
  })
}
