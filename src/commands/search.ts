import type { FoundText } from '../api/search.ts'
import { shortId } from '../domain/id.ts'
import { shortLabel } from '../domain/session.ts'
import { defineCommand } from './command.ts'
import { tableOutcome } from './outcome.ts'

const maxFound = 10

/** Characters that are shown before the first word that was found. */
const maxLead = 20

export const searchCommands = [
  defineCommand({
    name: 'search',
    usage: '/search words',
    summary: 'turns, results and files that match these words, best first',
    example: '/search which port',
    action: 'turn.read',
    parse: (words) => words.text('words to find'),
    async run({ app, folder }, query) {
      const { rows } = await app.search(folder, { query, limit: maxFound })
      const [best] = rows
      return tableOutcome(rows, {
        columns: {
          ref: shortReference,
          passage: fromFirstMark,
          session: ({ session }) => session && shortLabel(session.label),
          at: ({ at }) => at,
        },
        wide: 'passage',
        empty: 'nothing matches',
        ...(best && { next: `${best.kind === 'file' ? '/why' : '/show'} ${shortReference(best)}` }),
      })
    },
  }),
]

/** A table cuts the end of what is too long for it, and the words that were found must not be there. */
function fromFirstMark({ passage, marks: [first] }: FoundText): string {
  const start = Math.max(0, (first?.[0] ?? 0) - maxLead)
  const space = start === 0 ? 0 : passage.indexOf(' ', start) + 1
  return space > 0 && space <= (first?.[0] ?? 0) ? `… ${passage.slice(space)}` : passage
}

function shortReference({ ref, kind }: FoundText): string {
  return kind === 'turn' ? `turn:${shortId(ref)}` : ref
}
