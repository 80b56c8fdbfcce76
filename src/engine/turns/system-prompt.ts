import { hash } from 'node:crypto'
import { UsageError } from '../../domain/errors.ts'
import { groupDigits } from '../../domain/text/group-digits.ts'
import { isStorable } from '../../domain/text/storable.ts'
import type { ThreadConfig } from '../../domain/turn.ts'
import { savePrompt } from '../../store/rows/turns.ts'
import type { Tx } from '../../store/store.ts'

const maxCharacters = 100_000

/** Stores a thread's own system prompt; null for none. */
export async function storeSystemPrompt(tx: Tx, text: string | null): Promise<Pick<ThreadConfig, 'systemPromptHash'>> {
  if (text === null) return { systemPromptHash: null }
  if (text.trim() === '' || text.length > maxCharacters || !isStorable(text))
    throw new UsageError(
      `a system prompt is 1 to ${groupDigits(maxCharacters)} characters of text`,
      'give another text; --clear removes the one that is there',
      'bad_prompt',
    )
  const systemPromptHash = hash('sha256', text)
  await savePrompt(tx, systemPromptHash, text)
  return { systemPromptHash }
}
