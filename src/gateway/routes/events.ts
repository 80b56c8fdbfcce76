import { z } from 'zod'
import type { EventApp } from '../../api/events.ts'
import { countInQuery } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

const after = z.string().max(500)

/** The query of the stream of events, which is a route of its own. */
export const streamQuery = z.strictObject({ after: after.exactOptional(), run: z.string().max(100).exactOptional() })

/** `follow` has no route here: it is read from the stream of events. */
export const eventRoutes: RoutesOf<Omit<EventApp, 'follow'>> = {
  events: [
    get('events', {
      path: '/v1/events/page',
      summary: 'Stored events after a cursor, oldest first.',
      input: z.strictObject({ after: after.exactOptional(), limit: countInQuery.exactOptional() }),
      answer: { key: 'events' },
      call: (app, { id: _, ...query }) => app.events(query),
      fields: (query) => ({ ...query }),
    }),
  ],
  cursor: [
    get('cursor', {
      path: '/v1/cursor',
      summary: 'Cursor of the newest event.',
      answer: { key: 'cursor' },
      call: (app) => app.cursor(),
      fields: () => ({}),
    }),
  ],
  prune: [
    post('prune', {
      path: '/v1/events/prune',
      summary: 'Deletes events older than the configured retention.',
      call: (app) => app.prune(),
      fields: () => ({}),
    }),
  ],
}
