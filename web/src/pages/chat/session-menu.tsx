import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useSessions } from '../../api/queries.ts'
import { Menu } from '../../parts/menu.tsx'
import { countOf } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'

const maxShown = 15

/** The session's name; opens the list of sessions of this folder. */
export function SessionMenu({ session }: { session: string }): ReactNode {
  const [, navigate] = useLocation()
  const { data = [] } = useSessions()
  const labels = data.filter(({ sessionKind, archived }) => sessionKind === 'person' && !archived)
  const go = (label: string) => navigate(`/s/${encodeURIComponent(label)}`)
  return (
    <Menu
      label={`Session ${withoutBidi(session)}: choose another`}
      text={
        <>
          {withoutBidi(session)} <span aria-hidden="true">▾</span>
        </>
      }
      items={[
        ...labels.slice(0, maxShown).map(({ label, depth }) => ({
          label: withoutBidi(label),
          note: countOf(depth, 'turn'),
          isDisabled: label === session,
          onSelect: () => go(label),
        })),
        { label: 'New session', onSelect: () => go(freeLabel(labels.map(({ label }) => label))) },
      ]}
    />
  )
}

function freeLabel(taken: readonly string[]): string {
  for (let number = 2; ; number++) if (!taken.includes(`chat-${number}`)) return `chat-${number}`
}
