import { answersOrCalls, type ScriptedCall, type ScriptStep, type ScriptView } from '../script-view.ts'
import { type DirectoryListing, readFiles, readListing, reasonIn } from '../tool-texts.ts'
import { formatCount } from './format-count.ts'
import { containsFile, excludedPath, type FolderPart, parsePart, partName, searchInput } from './part.ts'

const maxParts = 20
const surveyed = 'surveyed by parts: '

/** Lists the parts of a folder, for a planner. */
export function surveyParts(view: ScriptView): ScriptStep {
  const without = excludedPath(view.task, view.brief)
  const divided = divide(view)
  if ('calls' in divided || 'text' in divided) return divided
  const { parts, left } = divided
  const searches = parts.flatMap((part) => [
    searchCall(searchInput(part)),
    ...(containsFile(part, without) ? [searchCall({ path: without })] : []),
  ])
  const step = answersOrCalls(view, searches)
  if ('calls' in step) return step
  const answers = new Map(searches.map((call, at) => [JSON.stringify(call.input), step.answers[at] ?? '']))
  const sizes = parts.map((part) => partSize(part, without, answers))
  const known = sizes.flatMap((size) => ('files' in size && size.files > 0 ? [size] : []))
  const empty = sizes.flatMap((size) => ('files' in size && size.files === 0 && !size.part.isFlat ? [size.part] : []))
  const unknown = sizes.flatMap((size) => ('why' in size ? [`not counted: ${partName(size.part)}: ${size.why}`] : []))
  if (known.length === 0)
    return { text: ['There is nothing to survey: no file was found in this folder.', ...unknown].join('\n') }
  const all = known.reduce((sum, { files }) => sum + files, 0)
  return {
    text: [
      `${surveyed}${formatCount(known.length, 'part')}, ${formatCount(all, 'file')}.`,
      '',
      ...known.map(({ part, files, extensions }) => `- ${partName(part)}: ${formatCount(files, 'file')}${extensions}`),
      ...empty.map(({ path }) => `without files: ${path}`),
      ...unknown,
      ...(left > 0 ? [`not looked at: ${formatCount(left, 'more entry')}`] : []),
      `left out: ${without}`,
    ].join('\n'),
  }
}

/** Whether this is the summary of a survey by parts. */
export function isPartsSurvey(summary: string): boolean {
  return summary.startsWith(surveyed)
}

export interface SurveyedPart extends FolderPart {
  /** File counts, as text of the survey. */
  found: string
}

/** Parses a survey by parts. */
export function readPartsSurvey(text: string): { parts: SurveyedPart[]; without: string; gaps: string[] } {
  const lines = text.split('\n')
  const parts = lines.flatMap((line) => {
    const found = /^- (.+): (\d+ files?(?: \([^()]*\))?)$/.exec(line)
    return found ? [{ ...parsePart(found[1] ?? ''), found: found[2] ?? '' }] : []
  })
  const without = lines.map((line) => /^left out: (.+)$/.exec(line)?.[1]).find((path) => path !== undefined)
  const gaps = lines.filter((line) => /^not (?:looked at|counted): /.test(line))
  return { parts, without: excludedPath(`leave out ${without ?? ''}`), gaps }
}

/** Splits the folder into its top-level directories, or those below `src` if that is the only one, and the files beside. */
function divide(
  view: ScriptView,
): { calls: ScriptedCall[] } | { text: string } | { parts: FolderPart[]; left: number } {
  const top = listPart(view, '.')
  if ('calls' in top || 'text' in top) return top
  const beside = top.files.length > 0 || top.more > 0 ? [{ path: '.', isFlat: true }] : []
  if (top.directories.length !== 1 || top.directories[0] !== 'src' || top.more > 0)
    return bounded(top, top.directories, beside)
  const below = listPart(view, 'src')
  if ('calls' in below || 'text' in below) return below
  if (below.directories.length === 0) return bounded(top, ['src'], beside)
  const inside = below.files.length > 0 || below.more > 0 ? [{ path: 'src', isFlat: true }] : []
  return bounded(
    below,
    below.directories.map((name) => `src/${name}`),
    [...inside, ...beside],
  )
}

function bounded(
  { files, more }: DirectoryListing,
  directories: string[],
  flat: FolderPart[],
): { parts: FolderPart[]; left: number } {
  const taken = directories.slice(0, maxParts - flat.length)
  // Directories are listed first: if a file is listed, no directory is missing.
  const unlisted = files.length === 0 ? more : 0
  return {
    parts: [...taken.map((path) => ({ path, isFlat: false })), ...flat],
    left: directories.length - taken.length + unlisted,
  }
}

function listPart(view: ScriptView, path: string): { calls: ScriptedCall[] } | { text: string } | DirectoryListing {
  const step = answersOrCalls(view, [{ name: 'list_dir', input: { path } }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  return readListing(text) ?? { text: `I could not list ${path}: ${reasonIn(text)}` }
}

function searchCall(location: Record<string, unknown>): ScriptedCall {
  return { name: 'search_files', input: { pattern: '', ...location } }
}

type Size = { part: FolderPart; files: number; extensions: string } | { part: FolderPart; why: string }

function partSize(part: FolderPart, without: string, answers: Map<string, string>): Size {
  const answer = (location: Record<string, unknown>) => answers.get(JSON.stringify(searchCall(location).input)) ?? ''
  const text = answer(searchInput(part))
  const found = readFiles(text)
  if (!found) return { part, why: reasonIn(text) }
  const apart = containsFile(part, without) ? (readFiles(answer({ path: without }))?.count ?? 0) : 0
  const files = found.count - apart
  const paths = found.paths.filter((path) => path !== without)
  return { part, files, extensions: paths.length === files ? formatExtensions(paths) : '' }
}

/** File counts by extension, most frequent first. */
function formatExtensions(paths: string[]): string {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const extension = /[^/]\.(\w+)$/.exec(path)?.[1] ?? 'other'
    counts.set(extension, (counts.get(extension) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return sorted.length === 0 ? '' : ` (${sorted.map(([extension, files]) => `${extension} ${files}`).join(', ')})`
}
