import { unquoted } from './find.ts'
import { askedAll, type Seen, type Step } from './seen.ts'
import { linesInAll, readLines, reasonIn } from './tool-texts.ts'

const mostShown = 60

// Headings of markdown, and what begins a declaration in most languages.
const heading = /^#{1,6}\s+\S/
const declaration =
  /^\s*(?:export\s|pub\s|public\s|private\s|protected\s|async\s+function\b|function\b|class\b|interface\b|type\s+\w+\s*=|enum\b|struct\b|trait\b|impl\b|fn\b|def\b|module\b|package\b|func\b|const\s+\w+\s*=\s*(?:async\s*)?\()/

/** Quotes what a file is made of. */
export function outlineFile(seen: Seen, heard: RegExpExecArray): Step {
  const path = unquoted(heard[1] ?? '')
  const asked = askedAll(seen, [{ name: 'read_file', input: { path } }])
  if ('calls' in asked) return asked
  const [text = ''] = asked.answers
  const lines = readLines(text)
  if (!lines) return { text: `I could not read ${path}: ${reasonIn(text)}` }
  if (lines.length === 0) return { text: text.replace(/^\[|\]$/g, '') }
  const found = lines.filter((line) => (/\.(?:md|markdown|mdx)$/i.test(path) ? heading : declaration).test(line.text))
  const total = linesInAll(text)
  const size = total === undefined ? `the first ${lines.length} lines` : `${total} lines`
  const shown = found.slice(0, mostShown)
  const rest = found.length - shown.length
  return {
    text: [
      `${path}: ${size}, ${found.length} ${/\.(?:md|markdown|mdx)$/i.test(path) ? 'headings' : 'declarations'}${total !== undefined && total > lines.length ? ` in the first ${lines.length}` : ''}.`,
      ...shown.map((line) => `${path}:${line.number}: ${line.text.trim()}`),
      ...(rest > 0 ? [`… and ${rest} more`] : []),
    ].join('\n'),
  }
}
