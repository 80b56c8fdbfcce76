import type { ReactNode } from 'react'
import { Link } from 'wouter'
import styles from './plain-words.module.css'
import { splitReferences } from './references.ts'
import { withoutBidi } from './safe-text.ts'

/** Words of a person or a file as they were written, with links to the things that they name. */
export function PlainWords({ text, isSerif = false }: { text: string; isSerif?: boolean }): ReactNode {
  const parts = splitReferences(withoutBidi(text))
  return (
    <div className={isSerif ? styles['serif'] : styles['words']}>
      {parts.map(({ text: words, href }, at) => {
        if (href === undefined) return words
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
          <Link key={at} href={href}>
            {words}
          </Link>
        )
      })}
    </div>
  )
}
