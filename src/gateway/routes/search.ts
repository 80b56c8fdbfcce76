import { z } from 'zod'
import type { SearchApp } from '../../api/search.ts'
import { maxPage } from '../../api/views/page.ts'
import { documentKinds } from '../../domain/search.ts'
import { folder, page, reference } from './fields.ts'
import { post, type RoutesOf } from './route.ts'

export const searchRoutes: RoutesOf<SearchApp> = {
  search: [
    post('search', {
      path: '/v1/search',
      summary: 'Turns, results and passages of files that share words with a query, best first.',
      key: 'ignored',
      input: z.strictObject({
        folder,
        query: z.string(),
        session: reference.exactOptional(),
        kind: z.enum(documentKinds).exactOptional(),
        limit: z.int().min(1).max(maxPage).exactOptional(),
        after: page.after,
      }),
      answer: 'plain',
      call: (app, { folder, id: _, ...query }) => app.search(folder, query),
      fields: (folder, query) => ({ folder, ...query }),
    }),
  ],
}
