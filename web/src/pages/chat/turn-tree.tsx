import { type ReactNode, useMemo } from 'react'
import { Link } from 'wouter'
import type { TreeTurn } from '../../api/wire.ts'
import { Button } from '../../parts/button.tsx'
import { countLanes, LaneGraph } from '../../parts/lane-graph.tsx'
import { State, stateOf } from '../../parts/state.tsx'
import { placeInLanes } from '../../parts/turn-lanes.ts'
import { countOf } from '../../text/format.ts'
import { previewOf } from '../../text/preview.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './turn-tree.module.css'

interface TurnTreeProps {
  /** Newest first. */
  turns: TreeTurn[]
  session: string
  head: string
  /** The turn that the address names. */
  shown: string | undefined
  marked: readonly string[]
  onCompare(): void
}

const rowHeight = 34

/** The tree of turns beside a chat: every fork with what was said in it. */
export function TurnTree({ turns, session, head, shown, marked, onCompare }: TurnTreeProps): ReactNode {
  const rows = useMemo(() => placeInLanes(turns, head), [turns, head])
  const lanes = countLanes(rows)
  return (
    <section className={styles['tree']} aria-label="Turns">
      <header className={styles['head']}>
        <h2>Turns</h2>
        <span className="quiet small">{lanes > 1 ? `${lanes} branches` : countOf(turns.length, 'turn')}</span>
      </header>
      <ol>
        {turns.map((turn, at) => {
          const row = rows[at]
          const branch = turn.branch ?? session
          return (
            <li key={turn.id} className={styles['row']}>
              {row && (
                <LaneGraph
                  row={row}
                  lanes={lanes}
                  height={rowHeight}
                  isFilled={turn.id === head || marked.includes(turn.id)}
                />
              )}
              <Link
                href={`/s/${encodeURIComponent(branch)}/${turn.id}`}
                className={styles['turn']}
                aria-current={turn.id === shown ? 'true' : undefined}
              >
                <span className={styles['depth']}>{turn.depth}</span>
                <span className={styles['preview']}>{previewOf(turn.preview)}</span>
                {turn.status !== 'completed' && <State name={stateOf(turn.status)} isBare />}
              </Link>
              {turn.session !== undefined && <span className={styles['label']}>{withoutBidi(turn.session)}</span>}
            </li>
          )
        })}
      </ol>
      <footer className={styles['foot']}>
        {marked.length === 2 ? (
          <Button onClick={onCompare}>Compare the two marked turns</Button>
        ) : (
          <p className="quiet small">
            {marked.length === 1
              ? 'One turn is marked. Mark another one to compare them.'
              : 'Each turn has a menu: fork it to try something else, mark two to compare them.'}
          </p>
        )}
      </footer>
    </section>
  )
}
