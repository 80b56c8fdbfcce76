import type { App } from '../../api/app.ts'
import { maxPage } from '../../api/views/page.ts'
import type { SessionView } from '../../api/views/session.ts'
import { UsageError } from '../../domain/errors.ts'
import { mainSessionOf } from '../../domain/persona.ts'
import { parseReference } from '../../domain/reference.ts'
import { checkLabel, checkUserLabel } from '../../domain/session.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { CommandContext } from '../command.ts'
import { talks } from '../commands/sessions.ts'
import { ago, paint, printable, table } from '../terminal/screen.ts'

/** Sessions that /sessions lists: the last used ones. */
const maxListed = 30

type ListContext = Pick<CommandContext, 'folder' | 'screen' | 'clock'>

/** Sessions of this folder, last used first, and the command that switches to one. */
export async function sessionLines(app: App, { folder, screen, clock }: ListContext, current: string): Promise<string> {
  const { rows: found } = await app.sessions({ folder, limit: maxListed, ...talks })
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

/**
 * Label of the session to chat in: `persona:ID` names that persona's main session, `turn:ID` the session whose last turn it
 * is, or a new one that starts there.
 */
export async function chatLabel(app: App, folder: string, text: string): Promise<string> {
  const { kind, id } = parseReference(text)
  if (kind === 'session') return id
  if (kind === 'persona') {
    // Throws if there is no such persona.
    await app.show(folder, text)
    return mainSessionOf(id)
  }
  return kind === 'turn' ? labelAtTurn(app, folder, text) : text
}

async function labelAtTurn(app: App, folder: string, turn: string): Promise<string> {
  const shown = await app.show(folder, turn)
  const labels = shown.kind === 'turn' ? shown.sessions : []
  for (const label of labels) {
    const [session] = (await app.sessions({ folder, label, ...talks })).rows
    if (session?.headTurnId === shown.id) return label
  }
  return (await app.fork(folder, { turn })).session
}

/** Finds the session to switch to. */
export async function findChatSession(app: App, folder: string, label: string): Promise<SessionView> {
  const [found] = (await app.sessions({ folder, label: label.normalize('NFC'), ...talks })).rows
  if (found) return found
  const { rows: others } = await app.sessions({ folder, limit: maxPage, ...talks })
  const close = nearest(
    label,
    others.map((session) => session.label),
  )
  throw new UsageError(
    `there is no session ${printable(label)} here`,
    close ? `did you mean /switch ${close}?` : `/sessions lists them; /new ${printable(label)} starts it`,
  )
}

/** Label for a new session: the given one, or the next free one. */
export async function freshLabel(app: App, folder: string, label: string | undefined): Promise<string> {
  const isTaken = async (chosen: string) => (await app.sessions({ folder, label: chosen })).rows.length > 0
  if (label === undefined) {
    for (let number = 2; ; number++) if (!(await isTaken(`chat-${number}`))) return `chat-${number}`
  }
  const chosen = checkUserLabel(checkLabel(label))
  if (await isTaken(chosen)) throw new UsageError(`session ${chosen} already exists`, `go there: /switch ${chosen}`)
  return chosen
}
