import { answersOrCalls, answerTo, type ScriptStep, type ScriptView } from '../script-view.ts'
import {
  type DirectoryListing,
  type FoundFiles,
  parseReadFile,
  readFiles,
  readListing,
  readMatches,
  reasonIn,
  type SearchText,
} from '../tool-texts.ts'
import { formatCount, todoMarker } from './format-count.ts'

const maxParts = 20
const maxQuotes = 5

/** Counts the files of each top-level directory of a folder, and those beside them. */
export function surveyFolder(view: ScriptView): ScriptStep {
  const top = answersOrCalls(view, [{ name: 'list_dir', input: { path: '.' } }])
  if ('calls' in top) return top
  const [text = ''] = top.answers
  const listed = readListing(text)
  if (!listed) return { text: `I could not list this folder: ${reasonIn(text)}` }
  if (listed.directories.length === 0 && listed.files.length === 0)
    return {
      text: `There is nothing to survey: the folder is empty${listed.ignored > 0 ? ` but for ${listed.ignored} ignored entries` : ''}.`,
    }
  const parts = listed.directories.slice(0, maxParts)
  const searches = [
    { name: 'search_files', input: { pattern: '' } },
    { name: 'search_files', input: { pattern: todoMarker } },
    ...parts.flatMap((path) => [
      { name: 'search_files', input: { pattern: '', path } },
      { name: 'search_files', input: { pattern: todoMarker, path } },
    ]),
  ]
  const searchStep = answersOrCalls(view, searches)
  if ('calls' in searchStep) return searchStep
  const readme = listed.files.find(({ name }) => /^readme(?:\.\w+)?$/i.test(name))?.name
  if (readme !== undefined && view.tools.has('read_file')) {
    const read = answersOrCalls(view, [{ name: 'read_file', input: { path: readme } }])
    if ('calls' in read) return read
  }
  return { text: report(view, listed, parts, readme) }
}

function report(view: ScriptView, listed: DirectoryListing, parts: string[], readme: string | undefined): string {
  const files = (path?: string): FoundFiles | undefined =>
    readFiles(answerTo(view, 'search_files', { pattern: '', ...(path !== undefined && { path }) }) ?? '')
  const todos = (path?: string): SearchText | undefined =>
    readMatches(answerTo(view, 'search_files', { pattern: todoMarker, ...(path !== undefined && { path }) }) ?? '')
  const all = files()
  const marked = todos()
  const rows = parts.map(
    (path) => `${path}/: ${formatCount(files(path)?.count, 'file')}, ${formatCount(todos(path)?.matches, todoMarker)}`,
  )
  const left = listed.directories.length - parts.length
  const here = listed.files.length + (left === 0 && parts.length === 0 ? listed.more : 0)
  return [
    `${formatCount(all?.count, 'file')} in ${formatCount(listed.directories.length, 'directory')} and the top level, ${formatCount(marked?.matches, 'line')} with ${todoMarker}.`,
    ...quoteOf(view, readme),
    ...rows,
    ...(left > 0 ? [`… and ${left} more directories`] : []),
    ...(here > 0 ? [`top level: ${formatCount(here, 'file')}`] : []),
    ...(marked?.hits.slice(0, maxQuotes).map((hit) => `${hit.path}:${hit.line}: ${hit.text.trim()}`) ?? []),
    ...(marked && marked.matches > maxQuotes
      ? [`… and ${marked.matches - Math.min(maxQuotes, marked.hits.length)} more with ${todoMarker}`]
      : []),
    ...(marked?.notes ?? []),
  ].join('\n')
}

/** First non-empty line of the README, quoted. */
function quoteOf(view: ScriptView, readme: string | undefined): string[] {
  const lines = readme === undefined ? undefined : parseReadFile(answerTo(view, 'read_file', { path: readme }) ?? '')
  const first = lines?.find(({ text }) => text.trim() !== '')
  return first ? [`${readme}:${first.number}: ${first.text.trim()}`] : []
}
