import { stripQuotes } from '../find.ts'
import { answersOrCalls, type ScriptStep, type ScriptView } from '../script-view.ts'
import { readFiles, readListing, readMatches, reasonIn, totalLines } from '../tool-texts.ts'
import { type FileKind, fileKindIn } from './file-kind.ts'
import { formatCount, todoMarker } from './format-count.ts'

/** Nouns that a text search would not count. */
const uncountable = /^(?:folders?|director(?:y|ies)|functions?|class(?:es)?|tests?|words?|characters?|commits?)$/i

/**
 * Whether this can be counted: files, files of a kind, lines, bytes of a file, or occurrences of a text. Several words are
 * a text only in quotes: "how many empty files" asks for something else.
 */
export function canCount([, what = '', path]: RegExpExecArray): boolean {
  if (isBytes(what)) return path !== undefined
  if (fileKindIn(what)) return true
  return !uncountable.test(what) && (stripQuotes(what) !== what || !/\s/.test(what))
}

/** Counts files, the lines or bytes of a file, or occurrences of a text. */
export function countThings(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const what = stripQuotes(match[1] ?? '')
  const path = match[2] === undefined ? undefined : stripQuotes(match[2])
  if (/^files?$/i.test(what)) return countFiles(view, path)
  if (/^lines?$/i.test(what)) return path === undefined ? countAllLines(view) : describeLineCount(view, path)
  if (isBytes(what) && path !== undefined) return countBytes(view, path)
  // In quotes it is a text, whatever it says.
  const kind = what === match[1] ? fileKindIn(what) : undefined
  if (kind) return countFiles(view, path, kind)
  return countText(view, /^todos?$/i.test(what) ? todoMarker : what, path)
}

function isBytes(what: string): boolean {
  return /^bytes?$/i.test(what)
}

function countFiles(view: ScriptView, path: string | undefined, kind?: FileKind): ScriptStep {
  const input = { pattern: '', ...(path !== undefined && { path }), ...(kind && { glob: kind.glob }) }
  return callAndDescribe(view, 'search_files', input, (text) => {
    const found = readFiles(text)
    return found && `${path ?? 'this folder'}: ${formatCount(found.count, kind?.noun ?? 'file')}.`
  })
}

function countBytes(view: ScriptView, path: string): ScriptStep {
  const [, directory = '.', name = path] = /^(.*?)\/+([^/]+)$/.exec(path) ?? []
  return callAndDescribe(view, 'list_dir', { path: directory || '/' }, (text) => {
    const listing = readListing(text)
    if (!listing) return undefined
    const file = listing.files.find((each) => each.name === name)
    return file
      ? `${path}: ${formatCount(file.bytes, 'byte')}.`
      : `I could not count: ${path} is not among the files there`
  })
}

function describeLineCount(view: ScriptView, path: string): ScriptStep {
  return callAndDescribe(view, 'read_file', { path }, (text) => {
    if (/^\[.* is empty\]$/.test(text)) return `${path}: 0 lines.`
    const lines = totalLines(text)
    if (/^\[.* is binary /.test(text)) return text.slice(1, -1)
    return lines === undefined ? undefined : `${path}: ${formatCount(lines, 'line')}.`
  })
}

function countAllLines(view: ScriptView): ScriptStep {
  return callAndDescribe(view, 'search_files', { pattern: '^', regex: true }, (text) => {
    const found = readMatches(text)
    return found && `this folder: ${formatCount(found.matches, 'line')} in ${formatCount(found.files, 'file')}.`
  })
}

function countText(view: ScriptView, wanted: string, path: string | undefined): ScriptStep {
  return callAndDescribe(view, 'search_files', { pattern: wanted, ...(path !== undefined && { path }) }, (text) => {
    const found = readMatches(text)
    if (!found) return undefined
    const [first] = found.hits
    const where = first ? ` The first is ${first.path}:${first.line}.` : ''
    const place = path === undefined ? '' : ` in ${path}`
    return [
      `"${wanted}"${place}: ${formatCount(found.matches, 'line')} in ${formatCount(found.files, 'file')}.${where}`,
      ...found.notes,
    ].join('\n')
  })
}

function callAndDescribe(
  view: ScriptView,
  name: string,
  input: Record<string, unknown>,
  describe: (text: string) => string | undefined,
): ScriptStep {
  const step = answersOrCalls(view, [{ name, input }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  return { text: describe(text) ?? `I could not count: ${reasonIn(text)}` }
}
