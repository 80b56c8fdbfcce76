import type { ReactNode } from 'react'
import { kindsOf, type LineKind } from '../text/diff-lines.ts'
import { withoutBidi } from '../text/safe-text.ts'
import styles from './change-view.module.css'

/** A unified diff line by line, or any other text as it is: all of it, in no box that would hide a part. */
export function ChangeView({ change }: { change: string }): ReactNode {
  const lines = withoutBidi(change).split('\n')
  const kinds = kindsOf(lines)
  return (
    <pre className={styles['change']}>
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
