import { estimateTokensOf } from './usage.ts'

/** Min share of the sent tokens that the provider must have read. */
const minShareRead = 0.8
/** Shorter prompts are not checked: a few tokens would decide, and no server's window is that small. */
const minTokens = 2_000

/** Pre-tokenizer pattern for words, numbers, punctuation and spaces: no token spans two pieces. */
const pieces = /[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+/gu
/** Max letters counted as one token. */
const maxTokenLength = 16

/**
 * Whether the provider read so little that it must have truncated the conversation: local servers silently drop the front
 * of a prompt that exceeds their window. A false alarm costs an answer, so the estimate must not exceed what any tokenizer
 * would count: a quarter of the characters, or one token per piece of text if that is less (prose and logs have five or
 * more characters per token). Tool descriptions are excluded, since servers rewrite them. Pieces are counted only when the
 * rough estimate is suspicious.
 */
export function isContextCut(texts: readonly string[], tokensRead: number): boolean {
  const isTooLittle = (estimate: number) => estimate > minTokens && tokensRead < minShareRead * estimate
  const rough = estimateTokensOf(texts)
  return isTooLittle(rough) && isTooLittle(Math.min(rough, minTokenCount(texts)))
}

function minTokenCount(texts: readonly string[]): number {
  let tokens = 0
  for (const text of texts) {
    for (const [piece] of text.matchAll(pieces))
      tokens += /\p{L}$/u.test(piece) ? Math.ceil(piece.length / maxTokenLength) : 1
  }
  return tokens
}
