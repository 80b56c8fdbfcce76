import type { FoundText } from '../api/search.ts'
import { tail } from '../domain/id.ts'
import { shortLabel } from '../domain/session.ts'
import { defineCommand } from './command.ts'
import { listed } from './outcome.ts'

const maxFound = 10

export const searchCommands = [
  defineCommand({
    name: 'search',
    usage: '/search words',
    summary: 'turns, results and files that have these words, best first',
    example: '/search which port',
    action: 'turn.read',
    parse: (words) => words.text('words to find'),
    async run({ app, folder }, query) {
      const { rows } = await app.search(folder, { query, limit: maxFound })
      const [best] = rows
      return listed(rows, {
        columns: {
          ref: shortReference,
          passage: ({ passage }) => passage,
          session: ({ session }) => session && shortLabel(session.label),
          at: ({ at }) => at,
        },
        wide: 'passage',
        empty: 'nothing has these words',
        ...(best && { next: `${best.kind === 'file' ? '/why' : '/show'} ${shortReference(best)}` }),
      })
    },
  }),
]

function shortReference({ ref, kind }: FoundText): string {
  return kind === 'turn' ? `turn:${tail(ref)}` : ref
}
