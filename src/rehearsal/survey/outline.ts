import { countNoun } from '../../domain/text/count-noun.ts'
import { stripQuotes } from '../find.ts'
import { answersOrCalls, type ScriptStep, type ScriptView } from '../script-view.ts'
import { parseReadFile, reasonIn, totalLines } from '../tool-texts.ts'

const maxShown = 60

// Markdown headings, and the start of a declaration in most languages.
const heading = /^#{1,6}\s+\S/
const declaration =
  /^\s*(?:export\s|pub\s|public\s|private\s|protected\s|async\s+function\b|function\b|class\b|interface\b|type\s+\w+\s*=|enum\b|struct\b|trait\b|impl\b|fn\b|def\b|module\b|package\b|func\b|const\s+\w+\s*=\s*(?:async\s*)?\()/

/** Quotes the headings or declarations of a file. */
export function outlineFile(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const path = stripQuotes(match[1] ?? '')
  const step = answersOrCalls(view, [{ name: 'read_file', input: { path } }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  const lines = parseReadFile(text)
  if (!lines) return { text: `I could not read ${path}: ${reasonIn(text)}` }
  if (lines.length === 0) return { text: text.replace(/^\[|\]$/g, '') }
  const isMarkdown = /\.(?:md|markdown|mdx)$/i.test(path)
  const found = lines.filter((line) => (isMarkdown ? heading : declaration).test(line.text))
  const total = totalLines(text)
  const size = total === undefined ? `the first ${countNoun(lines.length, 'line')}` : countNoun(total, 'line')
  const shown = found.slice(0, maxShown)
  const rest = found.length - shown.length
  return {
    text: [
      `${path}: ${size}, ${countNoun(found.length, isMarkdown ? 'heading' : 'declaration')}${total !== undefined && total > lines.length ? ` in the first ${lines.length}` : ''}.`,
      ...shown.map((line) => `${path}:${line.number}: ${line.text.trim()}`),
      ...(rest > 0 ? [`… and ${rest} more`] : []),
    ].join('\n'),
  }
}
