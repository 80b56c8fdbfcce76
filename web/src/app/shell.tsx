import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useMe } from '../api/me.ts'
import { useStatus } from '../api/queries.ts'
import { post } from '../api/request.ts'
import { Dialog } from '../parts/dialog.tsx'
import { useKeys } from '../parts/keys.ts'
import { Failure } from '../parts/notice.tsx'
import { withoutBidi } from '../text/safe-text.ts'
import { ConnectionLine } from './connection-line.tsx'
import { FolderMenu } from './folder-menu.tsx'
import { KeyHelp } from './key-help.tsx'
import { Palette } from './palette.tsx'
import { openPalette } from './palette-state.ts'
import { type NavEntry, navEntriesOf } from './routes.ts'
import styles from './shell.module.css'

/** What is around every screen: the navigation, the palette, the keys, and the state of the connection. */
export function Shell({ children }: { children: ReactNode }): ReactNode {
  const [isHelpOpen, setHelpOpen] = useState(false)
  useShellKeys(useCallback(() => setHelpOpen(true), []))
  return (
    <div className={styles['shell']}>
      <a href="#content" className={styles['skip']}>
        Skip to the content
      </a>
      <ConnectionLine />
      <SideNav />
      <div className={styles['content']}>{children}</div>
      <TabBar />
      <Palette />
      <KeyHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </div>
  )
}

function SideNav(): ReactNode {
  const me = useMe()
  const { model } = me
  return (
    <nav className={styles['nav']} aria-label="Pages">
      <Link href="/" className={styles['name']}>
        <img src="/icon.svg" alt="" width="16" height="16" /> heddle
      </Link>
      <FolderMenu />
      <NavLinks entries={navEntriesOf(me)} />
      <button type="button" className={styles['go']} onClick={() => openPalette()}>
        Go to… <kbd>Ctrl K</kbd>
      </button>
      {(model === null || model.isRehearsal) && (
        <p className={styles['rehearsal']}>
          <strong>Rehearsal.</strong> A script answers, no model is asked. Add one with <code>heddle models add</code>.
        </p>
      )}
      <Account />
    </nav>
  )
}

/** Who is signed in, and the way out. */
function Account(): ReactNode {
  const { principal, name } = useMe()
  const [error, setError] = useState<unknown>()
  const signOut = () => void post('/v1/sign-out').then(leave, setError)
  return (
    <div className={styles['account']}>
      <span>
        <span>{withoutBidi(principal.replace(/^user:/, ''))}</span>{' '}
        <span className="quiet">at {withoutBidi(name)}</span>
      </span>
      <button type="button" onClick={signOut}>
        Sign out
      </button>
      {error !== undefined && <Failure error={error} />}
    </div>
  )
}

/** What was typed and not sent is for no other user of this browser. */
function leave(): void {
  localStorage.clear()
  sessionStorage.clear()
  window.location.assign('/')
}

function NavLinks({ entries: shown, onGo }: { entries: NavEntry[]; onGo?: () => void }): ReactNode {
  const [location] = useLocation()
  const { data } = useStatus()
  const count = data?.needsYou.length ?? 0
  return (
    <ul className={styles['links']}>
      {shown.map(({ label, href }) => (
        <li key={href}>
          <Link
            href={href}
            className={styles['link']}
            aria-current={isAt(location, href) ? 'page' : undefined}
            {...(onGo && { onClick: onGo })}
          >
            {label}
            {href === '/needs' && count > 0 && (
              <span className={styles['badge']}>
                {count}
                <span className="visually-hidden"> need you</span>
              </span>
            )}
          </Link>
        </li>
      ))}
    </ul>
  )
}

function TabBar(): ReactNode {
  const [isMoreOpen, setMoreOpen] = useState(false)
  const entries = navEntriesOf(useMe())
  const tabs = entries.filter(({ isTab }) => isTab).slice(0, 4)
  const others = entries.filter((entry) => !tabs.includes(entry))
  return (
    <nav className={styles['tabs']} aria-label="Main pages">
      <NavLinks entries={tabs.map((tab) => ({ ...tab, label: tab.tabLabel ?? tab.label }))} />
      <button type="button" className={styles['link']} onClick={() => setMoreOpen(true)}>
        More
      </button>
      <Dialog title="Pages" isOpen={isMoreOpen} onClose={() => setMoreOpen(false)}>
        <NavLinks entries={others} onGo={() => setMoreOpen(false)} />
        <button
          type="button"
          className={styles['go']}
          onClick={() => {
            setMoreOpen(false)
            openPalette()
          }}
        >
          Go to…
        </button>
        <Account />
      </Dialog>
    </nav>
  )
}

function isAt(location: string, href: string): boolean {
  const [, first = ''] = href.split('/')
  return first === (location.split('/')[1] ?? '')
}

function useShellKeys(openHelp: () => void): void {
  const [, navigate] = useLocation()
  const me = useMe()
  const bound = useMemo(
    () => [
      ...navEntriesOf(me).map(({ key, label, href }) => ({ keys: `g ${key}`, does: label, run: () => navigate(href) })),
      { keys: '?', does: 'Show all keys', run: openHelp },
    ],
    [me, navigate, openHelp],
  )
  useKeys(bound)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      openPalette()
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [])
}
