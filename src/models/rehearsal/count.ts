import { count, leftToDo } from './counted.ts'
import { unquoted } from './find.ts'
import { askedAll, type Seen, type Step } from './seen.ts'
import { linesInAll, readFiles, readMatches, reasonIn } from './tool-texts.ts'

/** Things that a search for their word would not count. */
const uncountable = /^(?:folders?|director(?:y|ies)|functions?|class(?:es)?|tests?|words?|characters?|bytes|commits?)$/i

/** Whether the words name something that can be counted: files, lines, or a text that stands in files. */
export function canCount(what: string): boolean {
  return !uncountable.test(what)
}

/** Counts files, the lines of a file, or how often a text stands in files. */
export function countThings(seen: Seen, heard: RegExpExecArray): Step {
  const what = unquoted(heard[1] ?? '')
  const path = heard[2] === undefined ? undefined : unquoted(heard[2])
  if (/^files?$/i.test(what)) return countFiles(seen, path)
  if (/^lines?$/i.test(what)) return path === undefined ? countAllLines(seen) : countLines(seen, path)
  return countText(seen, /^todos?$/i.test(what) ? leftToDo : what, path)
}

function countFiles(seen: Seen, path: string | undefined): Step {
  return answered(seen, 'search_files', { pattern: '', ...(path !== undefined && { path }) }, (text) => {
    const found = readFiles(text)
    return found && `${path ?? 'this folder'}: ${count(found.count, 'file')}.`
  })
}

function countLines(seen: Seen, path: string): Step {
  return answered(seen, 'read_file', { path }, (text) => {
    if (/^\[.* is empty\]$/.test(text)) return `${path}: 0 lines.`
    const lines = linesInAll(text)
    if (/^\[.* is binary /.test(text)) return text.slice(1, -1)
    return lines === undefined ? undefined : `${path}: ${count(lines, 'line')}.`
  })
}

function countAllLines(seen: Seen): Step {
  return answered(seen, 'search_files', { pattern: '^', regex: true }, (text) => {
    const found = readMatches(text)
    return found && `this folder: ${count(found.matches, 'line')} in ${count(found.files, 'file')}.`
  })
}

function countText(seen: Seen, wanted: string, path: string | undefined): Step {
  return answered(seen, 'search_files', { pattern: wanted, ...(path !== undefined && { path }) }, (text) => {
    const found = readMatches(text)
    if (!found) return undefined
    const [first] = found.hits
    const where = first ? ` The first is ${first.path}:${first.line}.` : ''
    const place = path === undefined ? '' : ` in ${path}`
    return [
      `"${wanted}"${place}: ${count(found.matches, 'line')} in ${count(found.files, 'file')}.${where}`,
      ...found.notes,
    ].join('\n')
  })
}

function answered(
  seen: Seen,
  name: string,
  input: Record<string, unknown>,
  tell: (text: string) => string | undefined,
): Step {
  const asked = askedAll(seen, [{ name, input }])
  if ('calls' in asked) return asked
  const [text = ''] = asked.answers
  return { text: tell(text) ?? `I could not count: ${reasonIn(text)}` }
}
