import { HeddleError } from '../../domain/errors.ts'
import { nearestLines } from './nearest-lines.ts'

const maxListed = 20
// Larger files could not be stored for an undo.
const maxResultLength = 20 * 1024 * 1024

/** A text that takes the place of another one, or of all that are like it. */
export interface EditedText {
  old: string
  new: string
  all: boolean
}

/** Lines, counted from 0, in which an edit replaces text. */
export function editedPlaces(text: string, edit: EditedText): { first: number; last: number }[] {
  const [lines, old] = [text.replaceAll('\r\n', '\n'), edit.old.replaceAll('\r\n', '\n')]
  if (old === '') return []
  const lengthOf = (some: string) => some.split('\n').length - 1
  // A line that only begins where whole lines end is none of them.
  const isWhole = old.endsWith('\n') && (edit.new === '' || edit.new.endsWith('\n'))
  let [line, passed] = [0, 0]
  return occurrences(lines, old).map((at) => {
    line += lengthOf(lines.slice(passed, at))
    passed = at
    return { first: line, last: line + lengthOf(old) - (isWhole ? 1 : 0) }
  })
}

/** Replaces one text by another. Matching ignores the file's line endings, and they are kept. */
export function editText(text: string, edit: EditedText, shown: string): string {
  const ends: string[] = text.match(/\r?\n/g) ?? []
  const isMixed = ends.includes('\r\n')
  const plain = (some: string) => (isMixed ? some.replaceAll('\r\n', '\n') : some)
  const [lines, old, fresh] = [plain(text), plain(edit.old), plain(edit.new)]
  const places = occurrences(lines, old)
  if (places.length === 0) throw notThere(lines, old, shown)
  if (places.length > 1 && !edit.all) throw ambiguous(lines, places, shown)
  if (text.length + places.length * fresh.length > maxResultLength) throw tooLong(shown)
  if (!isMixed) return cut(lines, places, old.length).join(fresh)

  const usualEnd = mostCommonEnd(ends)
  const within = old.split('\n').length - 1
  let passed = 0
  return cut(lines, places, old.length)
    .map((piece, at) => {
      const kept = piece.replaceAll('\n', () => ends[passed++] ?? '\n')
      if (at === places.length) return kept
      // Replacement lines keep the line endings of those they replace.
      const end = within > 0 ? (ends[passed] ?? usualEnd) : usualEnd
      passed += within
      return kept + fresh.replaceAll('\n', end)
    })
    .join('')
}

function occurrences(text: string, old: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + old.length)) places.push(at)
  return places
}

/** The text before, between and after the matches. */
function cut(text: string, places: number[], length: number): string[] {
  return [...places, text.length].map((end, at) => text.slice(at === 0 ? 0 : (places[at - 1] ?? 0) + length, end))
}

function mostCommonEnd(ends: string[]): string {
  return ends.filter((end) => end === '\r\n').length * 2 >= ends.length ? '\r\n' : '\n'
}

function notThere(text: string, old: string, shown: string): HeddleError {
  const near = nearestLines(text, old)
  const message = `old_text is not in ${shown}${near === undefined ? '' : `; the nearest lines are\n${near}`}`
  return new HeddleError('no_match', message, 'read the file again and copy the text exactly')
}

function ambiguous(text: string, places: number[], shown: string): HeddleError {
  const numbers = places.slice(0, maxListed).map((at) => text.slice(0, at).split('\n').length)
  const more = places.length > maxListed ? ', …' : ''
  return new HeddleError(
    'several_matches',
    `old_text is ${places.length} times in ${shown}, at lines ${numbers.join(', ')}${more}`,
    'include more surrounding lines, or set all: true',
  )
}

function tooLong(shown: string): HeddleError {
  return new HeddleError('too_large', `${shown} would become larger than 20 MB`, 'replace less at once')
}
