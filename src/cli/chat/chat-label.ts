import type { App } from '../../api/app.ts'
import { userSessions } from '../../commands/sessions.ts'
import { mainSessionOf } from '../../domain/persona.ts'
import { parseReference } from '../../domain/reference.ts'

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
    const [session] = (await app.sessions({ folder, label, ...userSessions })).rows
    if (session?.headTurnId === shown.id) return label
  }
  return (await app.fork(folder, { turn })).session
}
