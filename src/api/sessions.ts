import type { Persona } from '../domain/persona.ts'
import type { SmartRoute } from '../domain/smart-route.ts'
import type { SessionView } from './views/session.ts'

/** Sessions and personas. `folder` is the caller's working directory. */
export interface SessionApp {
  sessions(filter?: { folder?: string }): Promise<SessionView[]>
  /** Finds the session that a message belongs to by its words: in this folder, or in `all`. */
  routeSmart(folder: string, message: string, options?: { all?: boolean }): Promise<SmartRoute>
  renameSession(folder: string, session: string, label: string): Promise<SessionView>
  archiveSession(folder: string, session: string, archived: boolean): Promise<SessionView>
  personas(): Promise<Persona[]>
  setPersona(persona: Persona): Promise<void>
}
