import type { SearchApp } from '../api/search.ts'
import { isOwner } from '../domain/access/principal.ts'
import { findByWords, type SearchContext } from '../engine/search/find-by-words.ts'
import type { Caller } from './guard/caller.ts'

/** Search as a caller may use it: a user finds what is in the user's own sessions, an admin no files but own ones. */
export function searchApp(context: SearchContext, { principal, text, only }: Caller): SearchApp {
  const { principal: owned, withoutNarrator } = only('turn.read')
  const access = {
    isOwner: isOwner(principal),
    ...(owned !== undefined && { principal: owned }),
    ...(withoutNarrator && { filesOnlyOf: text }),
  }
  return { search: (folder, query) => findByWords(context, folder, query, access) }
}
