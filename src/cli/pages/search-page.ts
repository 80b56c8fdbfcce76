import type { FoundText, SearchPage } from '../../api/search.ts'
import { shortId } from '../../domain/id.ts'
import { formatAge, paint, printable, type Screen, wrapText } from '../terminal/screen.ts'

const indent = '    '

/** What a search found: a line that names it, and below it the passage with the matching words. */
export function searchPage(
  screen: Screen,
  { rows, next, unindexed = 0 }: SearchPage,
  { folder, now }: { folder: string; now: number },
): string {
  const hits = rows.flatMap((hit) => [nameLine(screen, hit, { folder, now }), ...passageLines(screen, hit)])
  const none =
    rows.length === 0 ? ['nothing matches    try other words; heddle memory search looks at memories and notes'] : []
  const more = next === undefined ? [] : ['… more    --limit 0 shows all']
  const late =
    unindexed === 0 ? [] : [`${unindexed} older answers are not indexed yet    heddle up does it in the background`]
  return [...hits, ...none, ...more, ...late].join('\n')
}

function nameLine(screen: Screen, hit: FoundText, { folder, now }: { folder: string; now: number }): string {
  const { session } = hit
  const place = session && session.folder !== folder ? `  ${printable(session.folder)}` : ''
  return [
    paint(screen, 'yellow', nameOf(hit)),
    paint(screen, 'dim', formatAge(hit.at, now)),
    ...(session ? [`${paint(screen, 'green', `(${printable(session.label)})`)}${place}`] : []),
  ].join('  ')
}

/** As people type it: the end of a turn's id; a file's path and line as editors take them. */
function nameOf({ ref, kind }: FoundText): string {
  if (kind === 'turn') return `turn:${shortId(ref.slice('turn:'.length))}`
  return printable(kind === 'file' ? ref.slice('file:'.length) : ref)
}

function passageLines(screen: Screen, { passage, marks }: FoundText): string[] {
  let at = 0
  let text = ''
  for (const [from, to] of marks) {
    text += printable(passage.slice(at, from)) + marked(screen, printable(passage.slice(from, to)))
    at = to
  }
  text += printable(passage.slice(at))
  return wrapText(text, Math.max(20, screen.columns - indent.length), { words: true }).map((line) => indent + line)
}

/** In colour, or between stars where there is none. */
function marked(screen: Screen, word: string): string {
  return screen.color ? paint(screen, 'bold', word) : `*${word}*`
}
