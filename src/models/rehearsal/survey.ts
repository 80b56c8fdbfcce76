import { count, leftToDo } from './counted.ts'
import { answerTo, askedAll, type Seen, type Step } from './seen.ts'
import {
  type FoundFiles,
  type Listed,
  readFiles,
  readLines,
  readListing,
  readMatches,
  reasonIn,
  type Searched,
} from './tool-texts.ts'

const mostParts = 20
const mostQuotes = 5

/** Counts what is in each part of a folder: a part is a directory at its top, and the files beside them. */
export function surveyFolder(seen: Seen): Step {
  const top = askedAll(seen, [{ name: 'list_dir', input: { path: '.' } }])
  if ('calls' in top) return top
  const [text = ''] = top.answers
  const listed = readListing(text)
  if (!listed) return { text: `I could not list this folder: ${reasonIn(text)}` }
  if (listed.directories.length === 0 && listed.files.length === 0)
    return {
      text: `There is nothing to survey: the folder is empty${listed.ignored > 0 ? ` but for ${listed.ignored} ignored entries` : ''}.`,
    }
  const parts = listed.directories.slice(0, mostParts)
  const looks = [
    { name: 'search_files', input: { pattern: '' } },
    { name: 'search_files', input: { pattern: leftToDo } },
    ...parts.flatMap((path) => [
      { name: 'search_files', input: { pattern: '', path } },
      { name: 'search_files', input: { pattern: leftToDo, path } },
    ]),
  ]
  const looked = askedAll(seen, looks)
  if ('calls' in looked) return looked
  const readme = listed.files.find(({ name }) => /^readme(?:\.\w+)?$/i.test(name))?.name
  if (readme !== undefined && seen.tools.has('read_file')) {
    const read = askedAll(seen, [{ name: 'read_file', input: { path: readme } }])
    if ('calls' in read) return read
  }
  return { text: report(seen, listed, parts, readme) }
}

function report(seen: Seen, listed: Listed, parts: string[], readme: string | undefined): string {
  const files = (path?: string): FoundFiles | undefined =>
    readFiles(answerTo(seen, 'search_files', { pattern: '', ...(path !== undefined && { path }) }) ?? '')
  const todos = (path?: string): Searched | undefined =>
    readMatches(answerTo(seen, 'search_files', { pattern: leftToDo, ...(path !== undefined && { path }) }) ?? '')
  const all = files()
  const marked = todos()
  const rows = parts.map(
    (path) => `${path}/: ${count(files(path)?.count, 'file')}, ${count(todos(path)?.matches, leftToDo)}`,
  )
  const left = listed.directories.length - parts.length
  const here = listed.files.length + (left === 0 && parts.length === 0 ? listed.more : 0)
  return [
    `${count(all?.count, 'file')} in ${count(listed.directories.length, 'directory')} and beside them, ${count(marked?.matches, 'line')} with ${leftToDo}.`,
    ...quoteOf(seen, readme),
    ...rows,
    ...(left > 0 ? [`… and ${left} more directories`] : []),
    ...(here > 0 ? [`beside them: ${count(here, 'file')}`] : []),
    ...(marked?.hits.slice(0, mostQuotes).map((hit) => `${hit.path}:${hit.line}: ${hit.text.trim()}`) ?? []),
    ...(marked && marked.matches > mostQuotes
      ? [`… and ${marked.matches - Math.min(mostQuotes, marked.hits.length)} more with ${leftToDo}`]
      : []),
    ...(marked?.notes ?? []),
  ].join('\n')
}

/** The first line of a README that says something, word for word. */
function quoteOf(seen: Seen, readme: string | undefined): string[] {
  const lines = readme === undefined ? undefined : readLines(answerTo(seen, 'read_file', { path: readme }) ?? '')
  const first = lines?.find(({ text }) => text.trim() !== '')
  return first ? [`${readme}:${first.number}: ${first.text.trim()}`] : []
}
