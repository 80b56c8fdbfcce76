import { unquoted } from './find.ts'
import { leftOut, nameOf, partNamed } from './part.ts'
import type { Seen, Step } from './seen.ts'
import { tallyPart } from './tally.ts'

/** Counts what is in one part of the folder, and quotes where it is. */
export function summarisePart(seen: Seen, heard: RegExpExecArray): Step {
  const part = partNamed(unquoted(heard[1] ?? ''))
  const tally = tallyPart(seen, part, leftOut(seen.brief, seen.asked))
  if ('calls' in tally) return tally
  if ('why' in tally) return { text: `${nameOf(part)}: not counted: ${tally.why}` }
  const [first = '', ...rest] = tally.lines
  return { text: [first, ...(rest.length > 0 ? ['', ...rest] : [])].join('\n') }
}
