import { answersOrCalls, type ScriptStep, type ScriptView } from './script-view.ts'
import { formatCount } from './survey/format-count.ts'
import { readMatches, reasonIn } from './tool-texts.ts'

const maxShown = 20

/** Quotes the lines that contain a text. */
export function findText(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const wanted = stripQuotes(match[1] ?? '')
  const path = match[2] === undefined ? undefined : stripQuotes(match[2])
  const input = { pattern: wanted, ...(path !== undefined && { path }) }
  const step = answersOrCalls(view, [{ name: 'search_files', input }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  const found = readMatches(text)
  const where = path === undefined ? '' : ` in ${path}`
  if (!found) return { text: `I could not search${where}: ${reasonIn(text)}` }
  if (found.matches === 0) return { text: [`"${wanted}"${where}: nothing found.`, ...found.notes].join('\n') }
  const shown = found.hits.slice(0, maxShown)
  const rest = found.matches - shown.length
  return {
    text: [
      `"${wanted}"${where}: ${found.matches} in ${formatCount(found.files, 'file')}.`,
      ...shown.map((hit) => `${hit.path}:${hit.line}: ${hit.text.trim()}`),
      ...(rest > 0 ? [`… and ${rest} more`] : []),
      ...found.notes,
    ].join('\n'),
  }
}

/** Removes the quotes around a text. */
export function stripQuotes(text: string): string {
  const found = /^(["'“”`])(.+)(["'“”`])$/su.exec(text.trim())
  return found?.[2] ?? text.trim()
}
