import type { SessionApp } from '../api/sessions.ts'
import { actingFor } from '../domain/access/principal.ts'
import { assertMayWritePrompt } from '../engine/run/sender.ts'
import type { Runtime } from '../engine/runtime.ts'
import { routeSmart } from '../engine/turns/route-smart.ts'
import { archive, listSessions, rename, setPersona, setSystemPrompt } from '../engine/turns/sessions.ts'
import { listPersonas } from '../store/rows/personas.ts'
import { countSessions } from '../store/rows/session-lists.ts'
import type { Caller } from './guard/caller.ts'
import { assertPersona, type PermissionNames } from './permission-names.ts'

export function sessionApp(runtime: Runtime, known: PermissionNames, caller: Caller): SessionApp {
  const { store, clock } = runtime
  return {
    sessions: (filter) => store.read((rows) => listSessions(rows, { ...filter, ...caller.only('session.list') })),
    countSessions: (scope) => store.read((rows) => countSessions(rows, { ...scope, ...caller.only('session.list') })),
    routeSmart: (folder, message, { all } = {}) =>
      store.read((rows) =>
        routeSmart(rows, message, { now: clock.now(), ...(!all && { folder }), ...caller.only('session.route') }),
      ),
    renameSession: (folder, session, label) => rename(runtime, folder, session, label),
    archiveSession: (folder, session, archived) => archive(runtime, folder, session, archived),
    async setSystemPrompt(folder, session, text) {
      await store.read((rows) => assertMayWritePrompt(rows, caller.principal))
      return setSystemPrompt(runtime, { folder, session, text, principal: actingFor(caller.principal) })
    },
    personas: () => store.read(listPersonas),
    async setPersona(persona) {
      assertPersona(persona, known)
      await setPersona(runtime, persona)
    },
  }
}
