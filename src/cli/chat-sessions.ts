import type { App, SessionView } from '../domain/app.ts'
import { Misuse } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import { mainSessionOf } from '../domain/persona.ts'
import { parseReference } from '../domain/reference.ts'
import { checkLabel } from '../domain/session.ts'
import type { Here } from './cli.ts'
import { ago, paint, printable, table } from './screen.ts'
import { isTalk } from './sessions.ts'

type Place = Pick<Here, 'folder' | 'screen' | 'clock'>

/** The sessions of this folder, the one used last first, and how to go to one. */
export async function sessionLines(app: App, { folder, screen, clock }: Place, current: string): Promise<string> {
  const found = (await here(app, folder)).toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
  if (found.length === 0) return 'no session yet: one begins with your first message'
  const rows = found.map(({ label, depth, updatedAt }) => [
    label === current ? '*' : ' ',
    paint(screen, 'bold', printable(label)),
    `${depth} ${depth === 1 ? 'turn' : 'turns'}`,
    ago(updatedAt, clock.now()),
  ])
  const other = found.find(({ label }) => label !== current)
  return `${table(screen, rows, 1)}\n${paint(screen, 'dim', other ? `/switch ${printable(other.label)}` : '/new begins another')}`
}

/** The label of the session to talk in: `persona:ID` names that persona's main session. */
export async function labelToTalkIn(app: App, folder: string, text: string): Promise<string> {
  const { kind, id } = parseReference(text)
  if (kind !== 'persona') return text
  // Refuses a persona that is not there.
  await app.show(folder, text)
  return mainSessionOf(id)
}

/** The session of this name, to go to. */
export async function sessionNamed(app: App, folder: string, label: string): Promise<SessionView> {
  const all = await here(app, folder)
  const found = all.find((session) => session.label === label.normalize('NFC'))
  if (found) return found
  const close = nearest(
    label,
    all.map((session) => session.label),
  )
  throw new Misuse(
    `there is no session ${printable(label)} here`,
    close ? `did you mean /switch ${close}?` : `/sessions lists them; /new ${printable(label)} begins it`,
  )
}

/** A label for a session that is not there yet: the one that was asked for, or the next that is free. */
export async function freshLabel(app: App, folder: string, asked: string | undefined): Promise<string> {
  const taken = new Set((await app.sessions({ folder })).map((session) => session.label))
  let chosen = asked === undefined ? '' : checkLabel(asked)
  if (taken.has(chosen)) throw new Misuse(`there is a session ${chosen} already`, `go there: /switch ${chosen}`)
  for (let number = 2; chosen === '' || taken.has(chosen); number++) chosen = `chat-${number}`
  return chosen
}

async function here(app: App, folder: string): Promise<SessionView[]> {
  return (await app.sessions({ folder })).filter(isTalk)
}
