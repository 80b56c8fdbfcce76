import { Menu as Base } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { buttonLook } from './button.tsx'
import styles from './dialog.module.css'

interface MenuItem {
  label: string
  /** The key that does the same. */
  keyName?: string
  onSelect(): void
  isDisabled?: boolean
}

/** A button that opens a list of things to do. */
export function Menu({ label, text, items }: { label: string; text?: ReactNode; items: MenuItem[] }): ReactNode {
  return (
    <Base.Root>
      <Base.Trigger className={buttonLook('quiet')} aria-label={label}>
        {text ?? '⋯'}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end">
          <Base.Popup className={styles['menu']}>
            {items.map(({ label: name, keyName, onSelect, isDisabled }) => (
              <Base.Item key={name} className={styles['item']} onClick={onSelect} disabled={isDisabled ?? false}>
                <span>{name}</span>
                {keyName !== undefined && <kbd>{keyName}</kbd>}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
