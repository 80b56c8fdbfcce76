import { count } from './counted.ts'
import { holds, leftOut, nameOf, type Part, partNamed, placeOf } from './part.ts'
import { askedAll, type Call, type Seen, type Step } from './seen.ts'
import { type Listed, readFiles, readListing, reasonIn } from './tool-texts.ts'

const mostParts = 20
const surveyed = 'surveyed by parts: '

/** Finds the parts of a folder, for somebody who plans by them. */
export function surveyParts(seen: Seen): Step {
  const without = leftOut(seen.asked, seen.brief)
  const divided = divide(seen)
  if ('calls' in divided || 'text' in divided) return divided
  const { parts, left } = divided
  const looks = parts.flatMap((part) => [
    search(placeOf(part)),
    ...(holds(part, without) ? [search({ path: without })] : []),
  ])
  const asked = askedAll(seen, looks)
  if ('calls' in asked) return asked
  const answers = new Map(looks.map((call, at) => [JSON.stringify(call.input), asked.answers[at] ?? '']))
  const sizes = parts.map((part) => sizeOf(part, without, answers))
  const known = sizes.flatMap((size) => ('files' in size && size.files > 0 ? [size] : []))
  const empty = sizes.flatMap((size) => ('files' in size && size.files === 0 && !size.part.isFlat ? [size.part] : []))
  const unknown = sizes.flatMap((size) => ('why' in size ? [`not counted: ${nameOf(size.part)}: ${size.why}`] : []))
  if (known.length === 0)
    return { text: ['There is nothing to survey: no file was found in this folder.', ...unknown].join('\n') }
  const all = known.reduce((sum, { files }) => sum + files, 0)
  return {
    text: [
      `${surveyed}${count(known.length, 'part')}, ${count(all, 'file')}.`,
      '',
      ...known.map(({ part, files, endings }) => `- ${nameOf(part)}: ${count(files, 'file')}${endings}`),
      ...empty.map(({ path }) => `without files: ${path}`),
      ...unknown,
      ...(left > 0 ? [`not looked at: ${count(left, 'more entry')}`] : []),
      `left out: ${without}`,
    ].join('\n'),
  }
}

/** Whether a summary is that of a survey by parts. */
export function isPartsSurvey(summary: string): boolean {
  return summary.startsWith(surveyed)
}

export interface SurveyedPart extends Part {
  /** What was seen of it, in the survey's words. */
  seen: string
}

/** Reads such a survey back. */
export function readPartsSurvey(text: string): { parts: SurveyedPart[]; without: string; gaps: string[] } {
  const lines = text.split('\n')
  const parts = lines.flatMap((line) => {
    const found = /^- (.+): (\d+ files?(?: \([^()]*\))?)$/.exec(line)
    return found ? [{ ...partNamed(found[1] ?? ''), seen: found[2] ?? '' }] : []
  })
  const without = lines.map((line) => /^left out: (.+)$/.exec(line)?.[1]).find((path) => path !== undefined)
  const gaps = lines.filter((line) => /^not (?:looked at|counted): /.test(line))
  return { parts, without: leftOut(`leave out ${without ?? ''}`), gaps }
}

/** The directories at the top, or below `src` where that is the only one, and the files beside them. */
function divide(seen: Seen): { calls: Call[] } | { text: string } | { parts: Part[]; left: number } {
  const top = listed(seen, '.')
  if ('calls' in top || 'text' in top) return top
  const beside = top.files.length > 0 || top.more > 0 ? [{ path: '.', isFlat: true }] : []
  if (top.directories.length !== 1 || top.directories[0] !== 'src' || top.more > 0)
    return bounded(top, top.directories, beside)
  const below = listed(seen, 'src')
  if ('calls' in below || 'text' in below) return below
  if (below.directories.length === 0) return bounded(top, ['src'], beside)
  const inside = below.files.length > 0 || below.more > 0 ? [{ path: 'src', isFlat: true }] : []
  return bounded(
    below,
    below.directories.map((name) => `src/${name}`),
    [...inside, ...beside],
  )
}

function bounded({ files, more }: Listed, directories: string[], flat: Part[]): { parts: Part[]; left: number } {
  const taken = directories.slice(0, mostParts - flat.length)
  // Directories are told first: where a file is told, no directory is missing.
  const untold = files.length === 0 ? more : 0
  return {
    parts: [...taken.map((path) => ({ path, isFlat: false })), ...flat],
    left: directories.length - taken.length + untold,
  }
}

function listed(seen: Seen, path: string): { calls: Call[] } | { text: string } | Listed {
  const asked = askedAll(seen, [{ name: 'list_dir', input: { path } }])
  if ('calls' in asked) return asked
  const [text = ''] = asked.answers
  return readListing(text) ?? { text: `I could not list ${path}: ${reasonIn(text)}` }
}

function search(place: Record<string, unknown>): Call {
  return { name: 'search_files', input: { pattern: '', ...place } }
}

type Size = { part: Part; files: number; endings: string } | { part: Part; why: string }

function sizeOf(part: Part, without: string, answers: Map<string, string>): Size {
  const answer = (place: Record<string, unknown>) => answers.get(JSON.stringify(search(place).input)) ?? ''
  const text = answer(placeOf(part))
  const found = readFiles(text)
  if (!found) return { part, why: reasonIn(text) }
  const apart = holds(part, without) ? (readFiles(answer({ path: without }))?.count ?? 0) : 0
  const files = found.count - apart
  const paths = found.paths.filter((path) => path !== without)
  return { part, files, endings: paths.length === files ? endingsOf(paths) : '' }
}

/** How many files have which ending, the most frequent first. */
function endingsOf(paths: string[]): string {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const ending = /[^/]\.(\w+)$/.exec(path)?.[1] ?? 'other'
    counts.set(ending, (counts.get(ending) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return sorted.length === 0 ? '' : ` (${sorted.map(([ending, files]) => `${ending} ${files}`).join(', ')})`
}
