import type { ReactNode } from 'react'
import styles from './exact-text.module.css'

/**
 * Characters that are not seen, or that change how others are seen. Not a carriage return at the end of a line, and not
 * what makes one picture of several characters.
 */
const unseen =
  /(?!\t|\n|\r(?:\n|$))\p{Cc}|\u2028|\u2029|(?!\ufe0e|\ufe0f|(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d)\p{Default_Ignorable_Code_Point}/gu

/** A text of which everything counts: what is not seen is written out, as the terminal does, and marked. */
export function ExactText({ text }: { text: string }): ReactNode {
  const parts: ReactNode[] = []
  let from = 0
  for (const { 0: character, index } of text.matchAll(unseen)) {
    parts.push(text.slice(from, index))
    parts.push(
      <mark key={index} className={styles['unseen']} title="a character that is not seen">
        {`\\u{${character.codePointAt(0)?.toString(16)}}`}
      </mark>,
    )
    from = index + character.length
  }
  return [...parts, text.slice(from)]
}
