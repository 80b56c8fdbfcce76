import { isSignificantLine } from '../../../tools/guard/shared-lines.ts'
import { linesIn } from '../../files/match-lines.ts'

/** Fewer lines, or letters, in common may be chance. */
export const minSimilarLines = 2
export const minSimilarLetters = 16
/** The same of an equal content, which is followed and not only doubted. */
const minEqualLetters = 40

/** Whether a text is so short that another file may have the same by chance. */
export function isShortText(text: string): boolean {
  return significantLines(text).size < minSimilarLines || text.length < minEqualLetters
}

/** Lines of more than three characters. */
export function significantLines(text: string): Set<string> {
  return new Set(linesIn(text).filter(isSignificantLine))
}

/** Not only brackets and other signs. */
export function hasWord(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text)
}
