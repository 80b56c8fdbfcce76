import type { Persona } from '../domain/persona.ts'
import type { SmartRoute } from '../domain/smart-route.ts'
import type { ListPage, PageOptions } from './views/page.ts'
import type { SessionDetails, SessionFilter, SessionView } from './views/session.ts'

/** Sessions and personas. `folder` is the caller's working directory. */
export interface SessionApp {
  /** Sessions, most recently used first. */
  sessions(filter?: SessionFilter): Promise<ListPage<SessionView>>
  countSessions(filter?: Omit<SessionFilter, keyof PageOptions>): Promise<number>
  /** Finds the session that a message belongs to by its words: in this folder, or in `all`. */
  routeSmart(folder: string, message: string, options?: { all?: boolean }): Promise<SmartRoute>
  renameSession(folder: string, session: string, label: string): Promise<SessionView>
  archiveSession(folder: string, session: string, archived: boolean): Promise<SessionView>
  /**
   * Sets the system prompt of a session's next turns, null for none; a new label starts a session. Turns that follow and
   * forks inherit it.
   */
  setSystemPrompt(folder: string, session: string, text: string | null): Promise<SessionDetails>
  personas(): Promise<Persona[]>
  setPersona(persona: Persona): Promise<void>
}
