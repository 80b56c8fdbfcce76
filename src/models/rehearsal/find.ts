import { count } from './counted.ts'
import { askedAll, type Seen, type Step } from './seen.ts'
import { readMatches, reasonIn } from './tool-texts.ts'

const mostShown = 20

/** Quotes the lines that hold a text. */
export function findText(seen: Seen, heard: RegExpExecArray): Step {
  const wanted = unquoted(heard[1] ?? '')
  const path = heard[2] === undefined ? undefined : unquoted(heard[2])
  const input = { pattern: wanted, ...(path !== undefined && { path }) }
  const asked = askedAll(seen, [{ name: 'search_files', input }])
  if ('calls' in asked) return asked
  const [text = ''] = asked.answers
  const found = readMatches(text)
  const place = path === undefined ? '' : ` in ${path}`
  if (!found) return { text: `I could not search${place}: ${reasonIn(text)}` }
  if (found.matches === 0) return { text: [`"${wanted}"${place}: nothing found.`, ...found.notes].join('\n') }
  const shown = found.hits.slice(0, mostShown)
  const rest = found.matches - shown.length
  return {
    text: [
      `"${wanted}"${place}: ${found.matches} in ${count(found.files, 'file')}.`,
      ...shown.map((hit) => `${hit.path}:${hit.line}: ${hit.text.trim()}`),
      ...(rest > 0 ? [`… and ${rest} more`] : []),
      ...found.notes,
    ].join('\n'),
  }
}

/** A text without the quotes that people put around it. */
export function unquoted(text: string): string {
  const found = /^(["'“”`])(.+)(["'“”`])$/su.exec(text.trim())
  return found?.[2] ?? text.trim()
}
