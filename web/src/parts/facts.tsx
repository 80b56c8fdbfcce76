import type { ReactNode } from 'react'
import styles from './facts.module.css'

/** Facts about one thing, each with its name before it. */
export function Facts({ children }: { children: ReactNode }): ReactNode {
  return <dl className={styles['facts']}>{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
