import { stripQuotes } from '../find.ts'
import type { ScriptStep, ScriptView } from '../script-view.ts'
import { excludedPath, parsePart, partName } from './part.ts'
import { tallyPart } from './tally.ts'

/** Counts the contents of one part of the folder and quotes its lines. */
export function summarisePart(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const part = parsePart(stripQuotes(match[1] ?? ''))
  const tally = tallyPart(view, part, excludedPath(view.brief, view.task))
  if ('calls' in tally) return tally
  if ('why' in tally) return { text: `${partName(part)}: not counted: ${tally.why}` }
  const [first = '', ...rest] = tally.lines
  return { text: [first, ...(rest.length > 0 ? ['', ...rest] : [])].join('\n') }
}
