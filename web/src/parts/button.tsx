import type { ComponentProps, ReactNode } from 'react'
import styles from './button.module.css'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className' | 'type'> {
  /** `main` is what most people want next; at most one on a page. `quiet` has no border. */
  look?: 'main' | 'plain' | 'quiet' | 'danger'
  isSubmit?: boolean
  /** Only where there is no room for what it opens. */
  isOnlyNarrow?: boolean
}

export function Button({ look = 'plain', isSubmit = false, isOnlyNarrow = false, ...rest }: ButtonProps): ReactNode {
  const className = isOnlyNarrow ? `${buttonLook(look)} ${styles['only-narrow']}` : buttonLook(look)
  return <button {...rest} type={isSubmit ? 'submit' : 'button'} className={className} />
}

/** Class of something else that looks like a button: a link, the trigger of a menu. */
export function buttonLook(look: NonNullable<ButtonProps['look']> = 'plain'): string {
  return `${styles['button']} ${styles[look]}`
}
