import { z } from 'zod'
import type { SessionApp } from '../../api/sessions.ts'
import { modelSettings, permissions } from '../../domain/persona.ts'
import { sessionKinds } from '../../domain/session.ts'
import { flag, folder, label, ownPrompt, page, target } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

const persona = z.strictObject({
  id: z.string().max(100),
  identity: z.strictObject({ name: label, soul: z.string().max(100_000), emoji: z.string().max(100).exactOptional() }),
  permissions: permissions(),
  defaultModelConfig: z.strictObject({ model: label.exactOptional(), ...modelSettings().shape }).exactOptional(),
})

const scope = {
  folder: folder.exactOptional(),
  label: label.exactOptional(),
  kind: z.enum(sessionKinds).exactOptional(),
  archived: flag.exactOptional(),
}

export const sessionRoutes: RoutesOf<SessionApp> = {
  sessions: [
    get('sessions', {
      path: '/v1/sessions',
      summary: 'Sessions, most recently used first: those of a folder, label or kind, archived or not.',
      input: z.strictObject({ ...scope, ...page }),
      answer: { rows: 'sessions' },
      call: (app, { id: _, ...filter }) => app.sessions(filter),
      fields: (filter = {}) => ({ ...filter }),
    }),
  ],
  countSessions: [
    get('countSessions', {
      path: '/v1/sessions/count',
      summary: 'The number of such sessions.',
      input: z.strictObject(scope),
      answer: { key: 'count' },
      call: (app, { id: _, ...filter }) => app.countSessions(filter),
      fields: (filter = {}) => ({ ...filter }),
    }),
  ],
  routeSmart: [
    post('routeSmart', {
      path: '/v1/sessions/route',
      summary: 'The session that a message belongs to by its words.',
      key: 'ignored',
      input: z.strictObject({ folder, message: z.string(), all: z.boolean().default(false) }),
      answer: 'plain',
      call: (app, { folder, message, all }) => app.routeSmart(folder, message, { all }),
      fields: (folder, message, options = {}) => ({ folder, message, ...options }),
    }),
  ],
  renameSession: [
    post('renameSession', {
      path: '/v1/sessions/rename',
      summary: 'Gives a session another label.',
      input: z.strictObject({ folder, session: label, label }),
      answer: 'plain',
      call: (app, { folder, session, label }) => app.renameSession(folder, session, label),
      fields: (folder, session, label) => ({ folder, session, label }),
    }),
  ],
  archiveSession: [
    post('archiveSession', {
      path: '/v1/sessions/archive',
      summary: 'Archives a session, or brings it back.',
      input: z.strictObject({ folder, session: label, archived: z.boolean().default(true) }),
      answer: 'plain',
      call: (app, { folder, session, archived }) => app.archiveSession(folder, session, archived),
      fields: (folder, session, archived) => ({ folder, session, archived }),
    }),
  ],
  setSystemPrompt: [
    post('setSystemPrompt', {
      path: '/v1/sessions/system-prompt',
      summary: "Sets a session's own system prompt: turns that follow and forks inherit it.",
      input: z.strictObject({ folder, session: target, text: ownPrompt }),
      answer: 'plain',
      call: (app, { folder, session, text }) => app.setSystemPrompt(folder, session, text),
      fields: (folder, session, text) => ({ folder, session, text }),
    }),
  ],
  personas: [
    get('personas', {
      path: '/v1/personas',
      summary: 'All personas.',
      answer: { key: 'personas' },
      call: (app) => app.personas(),
      fields: () => ({}),
    }),
  ],
  setPersona: [
    post('setPersona', {
      path: '/v1/personas',
      summary: 'Stores a persona, new or changed.',
      input: z.strictObject({ persona }),
      call: (app, { persona }) => app.setPersona(persona),
      fields: (persona) => ({ persona }),
    }),
  ],
}
