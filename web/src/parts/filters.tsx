import type { ReactNode } from 'react'
import { Link } from 'wouter'
import styles from './filters.module.css'

interface FilterChoice {
  value: string
  label: ReactNode
  href: string
}

/** A choice between a few views of a page. Each is a link, so that it can be kept and sent. */
export function Filters({
  label,
  chosen,
  choices,
}: {
  label: string
  chosen: string
  choices: FilterChoice[]
}): ReactNode {
  return (
    <nav className={styles['filters']} aria-label={label}>
      {choices.map(({ value, label: words, href }) => (
        <Link
          key={value}
          href={href}
          replace
          className={styles['filter']}
          aria-current={value === chosen ? 'true' : undefined}
        >
          {words}
        </Link>
      ))}
    </nav>
  )
}
