import type { ComponentProps, ReactNode } from 'react'
import styles from './button.module.css'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className' | 'type'> {
  /** `main` is what most people want next; at most one on a page. `quiet` has no border. */
  look?: 'main' | 'plain' | 'quiet' | 'danger'
  isSubmit?: boolean
}

export function Button({ look = 'plain', isSubmit = false, ...rest }: ButtonProps): ReactNode {
  return <button {...rest} type={isSubmit ? 'submit' : 'button'} className={buttonLook(look)} />
}

/** Class of something else that looks like a button: a link, the trigger of a menu. */
export function buttonLook(look: NonNullable<ButtonProps['look']> = 'plain'): string {
  return `${styles['button']} ${styles[look]}`
}
