import { type ReactNode, useEffect } from 'react'
import { useStatus } from '../api/queries.ts'
import styles from './page.module.css'

interface PageProps {
  /** Of the document and, unless `heading` replaces it, of the page. */
  title: string
  heading?: ReactNode
  /** Beside the title: facts, budget, state. */
  facts?: ReactNode
  /** At the end of the title's line. */
  actions?: ReactNode
  children: ReactNode
  /** Beside the page; below it on a narrow screen. */
  side?: ReactNode
  /** `full` for graphs and tables, `reading` for text. */
  width?: 'reading' | 'full'
}

/** A screen: its title, what is known at one glance, and its content. */
export function Page({ title, heading, facts, actions, children, side, width = 'full' }: PageProps): ReactNode {
  useTitle(title)
  return (
    <div className={side === undefined ? styles['page'] : `${styles['page']} ${styles['with-side']}`}>
      <main className={styles['main']} id="content" tabIndex={-1}>
        <header className={styles['header']}>
          <h1 className={styles['title']}>{heading ?? title}</h1>
          {facts !== undefined && <div className={styles['facts']}>{facts}</div>}
          {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
        </header>
        <div className={styles[width]}>{children}</div>
      </main>
      {side !== undefined && <aside className={styles['side']}>{side}</aside>}
    </div>
  )
}

/** `(2) main · heddle`: what needs you is in the title of every page. */
function useTitle(title: string): void {
  const { data } = useStatus()
  const count = data?.needsYou.length ?? 0
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${title} · heddle`
  }, [title, count])
}

/** A part of a page under a heading of its own. */
export function Section({ title, more, children }: { title: ReactNode; more?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles['section']}>
      <div className={styles['section-head']}>
        <h2>{title}</h2>
        {more !== undefined && <div className={styles['more']}>{more}</div>}
      </div>
      {children}
    </section>
  )
}
