import { type ReactNode, useState } from 'react'
import { copyToClipboard } from '../text/copy-to-clipboard.ts'
import { withoutBidi } from '../text/safe-text.ts'
import styles from './copy-text.module.css'

/** What helps, as it can be copied into a terminal. */
export function CopyText({ text }: { text: string }): ReactNode {
  const [isCopied, setCopied] = useState(false)
  const shown = withoutBidi(text)
  return (
    <p className={styles['line']}>
      <span aria-hidden="true">→ </span>
      <code>{shown}</code>
      {/* Without a secure context there is no clipboard: the text can be selected. */}
      {navigator.clipboard !== undefined && (
        <button type="button" className={styles['copy']} onClick={() => void copyToClipboard(shown).then(setCopied)}>
          {isCopied ? 'copied' : 'copy'}
          <span className="visually-hidden"> {shown}</span>
        </button>
      )}
    </p>
  )
}
