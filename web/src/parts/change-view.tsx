import type { ReactNode } from 'react'
import { withoutBidi } from '../text/safe-text.ts'
import styles from './change-view.module.css'

/** A unified diff line by line, or any other text as it is. */
export function ChangeView({ change }: { change: string }): ReactNode {
  const lines = withoutBidi(change).split('\n')
  const isDiff = lines.some((line) => line.startsWith('@@ '))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, also by keyboard
    <pre className={styles['change']} tabIndex={0}>
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text have no other name
        <span key={at} className={isDiff ? styles[kindOf(line)] : styles['same']}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

function kindOf(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('@@')) return 'head'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : 'same'
}

/** `36 lines added, 2 removed`, of a diff; undefined for any other text. */
export function sizeOfChange(change: string): string | undefined {
  const kinds = change.split('\n').map(kindOf)
  if (!change.includes('@@ ')) return undefined
  const count = (kind: string) => kinds.filter((each) => each === kind).length
  return `+${count('added')} −${count('removed')}`
}
