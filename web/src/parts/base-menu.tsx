import { Menu as Base } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { buttonLook } from './button.tsx'
import styles from './dialog.module.css'

interface MenuItem {
  label: string
  /** The key that does the same. */
  keyName?: string
  /** What is to be known of it, beside the label. */
  note?: string
  onSelect(): void
  isDisabled?: boolean
}

export interface MenuProps {
  /** What the button is for. */
  label: string
  /** What it shows, if not three dots. */
  text?: ReactNode
  items: MenuItem[]
}

/** The menu itself; `Menu` loads it. */
export default function BaseMenu({ label, text, items }: MenuProps): ReactNode {
  return (
    <Base.Root>
      <Base.Trigger className={buttonLook('quiet')} aria-label={label}>
        {text ?? '⋯'}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner
          className={styles['positioner']}
          sideOffset={4}
          // Dots stand at the end of a line, words at its beginning.
          align={text === undefined ? 'end' : 'start'}
        >
          <Base.Popup className={styles['menu']}>
            {items.map(({ label: name, keyName, note, onSelect, isDisabled }) => (
              <Base.Item key={name} className={styles['item']} onClick={onSelect} disabled={isDisabled ?? false}>
                <span>{name}</span>
                {keyName !== undefined && <kbd>{keyName}</kbd>}
                {note !== undefined && <span className="quiet small">{note}</span>}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
