import type { ReactNode } from 'react'
import { kindsOf, type LineKind } from '../text/diff-lines.ts'
import { withoutBidi } from '../text/safe-text.ts'
import styles from './change-view.module.css'

/** A unified diff line by line, or any other text as it is. */
export function ChangeView({ change }: { change: string }): ReactNode {
  const lines = withoutBidi(change).split('\n')
  const kinds = kindsOf(lines)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, also by keyboard
    <pre className={styles['change']} tabIndex={0}>
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text have no other name
        <span key={at} className={styles[kinds[at] ?? 'same']}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

/** `+36 −2` of a diff; undefined for any other text. */
export function sizeOfChange(change: string): string | undefined {
  const kinds = kindsOf(change.split('\n'))
  if (!kinds.includes('head')) return undefined
  const count = (kind: LineKind) => kinds.filter((each) => each === kind).length
  return `+${count('added')} −${count('removed')}`
}
