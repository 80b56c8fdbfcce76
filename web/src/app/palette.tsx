import { type KeyboardEvent, type ReactNode, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { useMe } from '../api/me.ts'
import { useSessions } from '../api/queries.ts'
import { Dialog } from '../parts/dialog.tsx'
import { EmptyState } from '../parts/notice.tsx'
import { pageOf } from '../text/references.ts'
import styles from './palette.module.css'
import { setPalette, usePalette } from './palette-state.ts'
import { navEntriesOf } from './routes.ts'

interface Place {
  label: string
  hint: string
  href: string
}

const maxShown = 12

/** Goes anywhere by a few letters: pages, sessions, and anything that has a reference. */
export function Palette(): ReactNode {
  const typed = usePalette()
  return (
    <Dialog title="Go to" isBare isOpen={typed !== undefined} onClose={() => setPalette(undefined)}>
      {typed !== undefined && <Places typed={typed} />}
    </Dialog>
  )
}

function Places({ typed }: { typed: string }): ReactNode {
  const [, navigate] = useLocation()
  const [at, setAt] = useState(0)
  const listId = useId()
  const places = matching(usePlaces(typed), typed).slice(0, maxShown)
  const chosen = Math.min(at, places.length - 1)
  const go = (place: Place | undefined) => {
    if (!place) return
    setPalette(undefined)
    navigate(place.href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, places.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0))
    else if (event.key === 'Enter') go(places[chosen])
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        className={styles['input']}
        role="combobox"
        aria-label="Go to a page, a session, or a reference such as run:2ayxt1"
        aria-expanded={places.length > 0}
        aria-controls={listId}
        aria-activedescendant={places[chosen] ? `${listId}-${chosen}` : undefined}
        placeholder="Go to a page, a session, run:…, turn:…"
        // biome-ignore lint/a11y/noAutofocus: the palette was opened to type here
        autoFocus
        value={typed}
        onChange={(event) => {
          setAt(0)
          setPalette(event.target.value)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label="Places" className={styles['places']}>
        {places.map((place, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the field above, as in every combobox
          <div
            key={place.href}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className={styles['place']}
            onClick={() => go(place)}
          >
            <span>{place.label}</span>
            <span className="quiet small">{place.hint}</span>
          </div>
        ))}
      </div>
      {places.length === 0 && <EmptyState title="Nothing here has that name" />}
    </>
  )
}

function usePlaces(typed: string): Place[] {
  const { data: sessions = [] } = useSessions()
  const pages = navEntriesOf(useMe()).map(({ label, key, href }) => ({ label, hint: `g ${key}`, href }))
  const named = pageOf(typed.trim())
  return [
    ...(named === undefined ? [] : [{ label: typed.trim(), hint: 'reference', href: named }]),
    ...pages,
    ...sessions
      .filter(({ sessionKind }) => sessionKind === 'person')
      .map(({ label }) => ({ label, hint: 'session', href: `/s/${encodeURIComponent(label)}` })),
  ]
}

/** Places whose name has these letters in this order; those where they stand together come first. */
function matching(places: Place[], typed: string): Place[] {
  const wanted = typed.trim().toLowerCase()
  if (wanted === '') return places
  const rank = ({ label }: Place) => {
    const name = label.toLowerCase()
    if (name.startsWith(wanted)) return 0
    if (name.includes(wanted)) return 1
    let from = 0
    for (const letter of wanted) {
      from = name.indexOf(letter, from) + 1
      if (from === 0) return undefined
    }
    return 2
  }
  return places
    .flatMap((place) => {
      const value = rank(place)
      return value === undefined ? [] : [{ place, value }]
    })
    .sort((a, b) => a.value - b.value)
    .map(({ place }) => place)
}
