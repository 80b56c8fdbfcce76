import { tokensIn } from './usage.ts'

/** A reply to less than this part of what we sent is a reply to something else. */
const leastRead = 0.8
/** Below this a handful of tokens either way decides, and no server's window is that small. */
const leastJudged = 2_000

/** How words, numbers, signs and gaps are kept apart before they become tokens: no token spans two of them. */
const pieces = /[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+/gu
/** The longest word that is taken for one token. */
const longestToken = 16

/**
 * Whether the provider read so little that it must have cut the conversation: local servers drop the front of a prompt
 * that exceeds their window and say nothing. A wrong alarm costs an answer, so the estimate must not exceed what any
 * tokenizer would count: a quarter of the characters, or one token for each piece of text if that is less (plain prose
 * and logs have five and more characters to a token). The tools' descriptions are left out, since servers rewrite them.
 * Pieces are counted only when the first figure raises suspicion.
 */
export function isContextCut(texts: readonly string[], tokensRead: number): boolean {
  const isTooLittle = (estimate: number) => estimate > leastJudged && tokensRead < leastRead * estimate
  const rough = tokensIn(texts)
  return isTooLittle(rough) && isTooLittle(Math.min(rough, fewestTokens(texts)))
}

function fewestTokens(texts: readonly string[]): number {
  let tokens = 0
  for (const text of texts) {
    for (const [piece] of text.matchAll(pieces))
      tokens += /\p{L}$/u.test(piece) ? Math.ceil(piece.length / longestToken) : 1
  }
  return tokens
}
