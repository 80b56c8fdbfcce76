import { UsageError } from '../../domain/errors.ts'
import { type ThinkingConfig, thinkingLevels } from '../../domain/message.ts'

/** The thinking level of this name. */
export function thinkingLevel(word: string): ThinkingConfig['level'] {
  const level = thinkingLevels.find((known) => known === word)
  if (!level) throw new UsageError(`"${word}" is not a thinking level`, `use one of ${thinkingLevels.join(', ')}`)
  return level
}
