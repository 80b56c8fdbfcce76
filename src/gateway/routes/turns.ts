import { z } from 'zod'
import type { TurnApp } from '../../api/turns.ts'
import { sessionKinds } from '../../domain/session.ts'
import { countInQuery, flag, folder, label, ownPrompt, page, reference, target } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'
import { turnDraft } from './turn-draft.ts'

export const turnRoutes: RoutesOf<TurnApp> = {
  append: [
    post('append', {
      path: '/v1/turns',
      summary: 'Adds a turn that was written by hand.',
      input: z.strictObject({
        folder,
        session: target,
        draft: turnDraft,
        parent: reference.exactOptional(),
        persona: label.exactOptional(),
      }),
      call: (app, { folder, id: _, ...input }) => app.append(folder, input),
      fields: (folder, input) => ({ folder, ...input }),
    }),
  ],
  fork: [
    post('fork', {
      path: '/v1/turns/fork',
      summary: 'Starts a new session at a turn.',
      input: z.strictObject({
        folder,
        turn: reference,
        label: label.exactOptional(),
        persona: label.exactOptional(),
        systemPrompt: ownPrompt.exactOptional(),
      }),
      call: (app, { folder, id: _, ...input }) => app.fork(folder, input),
      fields: (folder, input) => ({ folder, ...input }),
    }),
  ],
  log: [
    get('log', {
      path: '/v1/turns',
      summary: "The path to a session's head or to a turn, or all turns; oldest first.",
      input: z.strictObject({
        folder,
        of: reference.exactOptional(),
        all: flag.exactOptional(),
        limit: countInQuery.exactOptional(),
      }),
      answer: { key: 'turns' },
      call: (app, { folder, id: _, ...query }) => app.log(folder, query),
      fields: (folder, query) => ({ folder, ...query }),
    }),
  ],
  turnWindow: [
    get('turnWindow', {
      path: '/v1/turns/window',
      summary: 'The last turns of a path with their words, oldest first; `next` leads to earlier ones.',
      input: z.strictObject({ folder, of: reference.exactOptional(), session: reference.exactOptional(), ...page }),
      answer: { rows: 'turns' },
      call: (app, { folder, id: _, ...query }) => app.turnWindow(folder, query),
      fields: (folder, query) => ({ folder, ...query }),
    }),
  ],
  turnTree: [
    get('turnTree', {
      path: '/v1/turns/tree',
      summary:
        'The newest turns of a folder, of all, or of the tree that a session or turn belongs to, newest first, each with the session that wrote it.',
      input: z.strictObject({
        folder: folder.exactOptional(),
        kind: z.enum(sessionKinds).exactOptional(),
        of: reference.exactOptional(),
        ...page,
      }),
      answer: { rows: 'turns' },
      call: (app, { id: _, ...query }) => app.turnTree(query),
      fields: (query = {}) => ({ ...query }),
    }),
  ],
  tips: [
    get('tips', {
      path: '/v1/turns/tips',
      summary: 'Turns without children.',
      answer: { key: 'turns' },
      call: (app) => app.tips(),
      fields: () => ({}),
    }),
  ],
  context: [
    get('context', {
      path: '/v1/turns/context',
      summary: 'The turns that a model would get as context here.',
      input: z.strictObject({ folder, of: reference }),
      answer: { key: 'turns' },
      call: (app, { folder, of }) => app.context(folder, of),
      fields: (folder, of) => ({ folder, of }),
    }),
  ],
  show: [
    get('show', {
      path: '/v1/show',
      summary: 'Anything that a reference can name.',
      input: z.strictObject({ folder, reference }),
      call: (app, { folder, reference }) => app.show(folder, reference),
      fields: (folder, reference) => ({ folder, reference }),
    }),
    get('show', {
      path: '/v1/runs/:id',
      summary: 'One run.',
      call: (app, { id }) => app.show('/', `run:${id}`),
    }),
    get('show', {
      path: '/v1/plans/:id',
      summary: 'One plan with its tasks.',
      idForm: 'number',
      call: (app, { id }) => app.show('/', `plan:${id}`),
    }),
    get('show', {
      path: '/v1/tasks/:id',
      summary: 'One task with its brief.',
      idForm: 'number',
      call: (app, { id }) => app.show('/', `task:${id}`),
    }),
  ],
  why: [
    get('why', {
      path: '/v1/why',
      summary: "Why something exists, back to the user's words; `forward` adds its consequences.",
      input: z.strictObject({ folder, reference, forward: flag.default(false) }),
      call: (app, { folder, reference, forward }) => app.why(folder, reference, { forward }),
      fields: (folder, reference, options = {}) => ({ folder, reference, ...options }),
    }),
  ],
  diff: [
    get('diff', {
      path: '/v1/diff',
      summary: 'Where two threads part, the turns of each since then, and what came of them.',
      input: z.strictObject({ folder, a: reference, b: reference }),
      call: (app, { folder, a, b }) => app.diff(folder, a, b),
      fields: (folder, a, b) => ({ folder, a, b }),
    }),
  ],
  exportTurns: [
    get('exportTurns', {
      path: '/v1/turns/export',
      summary: 'One JSON text per line and turn, with everything; parents before children.',
      input: z.strictObject({ folder, session: reference.exactOptional() }),
      answer: 'lines',
      call: (app, { folder, session }) => app.exportTurns(folder, session),
      fields: (folder, session) => ({ folder, session }),
    }),
  ],
  importTurns: [
    post('importTurns', {
      path: '/v1/turns/import',
      summary: 'Takes in exported turns, one per line.',
      takesLines: true,
      call: (app, _, { lines }) => app.importTurns(lines),
      fields: () => ({}),
    }),
  ],
}
