import type { App } from '../../api/app.ts'
import type { SessionView } from '../../api/views/session.ts'
import { UsageError } from '../../domain/errors.ts'
import { mainSessionOf } from '../../domain/persona.ts'
import { parseReference } from '../../domain/reference.ts'
import { checkLabel, checkUserLabel } from '../../domain/session.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { CommandContext } from '../command.ts'
import { isTalk } from '../commands/sessions.ts'
import { ago, paint, printable, table } from '../terminal/screen.ts'

type ListContext = Pick<CommandContext, 'folder' | 'screen' | 'clock'>

/** Sessions of this folder, last used first, and the command that switches to one. */
export async function sessionLines(app: App, { folder, screen, clock }: ListContext, current: string): Promise<string> {
  const found = (await chatSessions(app, folder)).toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
  if (found.length === 0) return 'no session yet: one starts with your first message'
  const rows = found.map(({ label, depth, updatedAt }) => [
    label === current ? '*' : ' ',
    paint(screen, 'bold', printable(label)),
    `${depth} ${depth === 1 ? 'turn' : 'turns'}`,
    ago(updatedAt, clock.now()),
  ])
  const other = found.find(({ label }) => label !== current)
  return `${table(screen, rows, 1)}\n${paint(screen, 'dim', other ? `/switch ${printable(other.label)}` : '/new starts another')}`
}

/** Label of the session to chat in: `persona:ID` names that persona's main session. */
export async function chatLabel(app: App, folder: string, text: string): Promise<string> {
  const { kind, id } = parseReference(text)
  if (kind !== 'persona') return text
  // Throws if there is no such persona.
  await app.show(folder, text)
  return mainSessionOf(id)
}

/** Finds the session to switch to. */
export async function findChatSession(app: App, folder: string, label: string): Promise<SessionView> {
  const all = await chatSessions(app, folder)
  const found = all.find((session) => session.label === label.normalize('NFC'))
  if (found) return found
  const close = nearest(
    label,
    all.map((session) => session.label),
  )
  throw new UsageError(
    `there is no session ${printable(label)} here`,
    close ? `did you mean /switch ${close}?` : `/sessions lists them; /new ${printable(label)} starts it`,
  )
}

/** Label for a new session: the given one, or the next free one. */
export async function freshLabel(app: App, folder: string, label: string | undefined): Promise<string> {
  const taken = new Set((await app.sessions({ folder })).map((session) => session.label))
  let chosen = label === undefined ? '' : checkUserLabel(checkLabel(label))
  if (taken.has(chosen)) throw new UsageError(`session ${chosen} already exists`, `go there: /switch ${chosen}`)
  for (let number = 2; chosen === '' || taken.has(chosen); number++) chosen = `chat-${number}`
  return chosen
}

async function chatSessions(app: App, folder: string): Promise<SessionView[]> {
  return (await app.sessions({ folder })).filter(isTalk)
}
