import { useInfiniteQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { TreeTurn } from '../../api/wire.ts'
import { Ago } from '../../parts/ago.tsx'
import { useKeys } from '../../parts/keys.ts'
import { countLanes, LaneGraph } from '../../parts/lane-graph.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { State, stateOf } from '../../parts/state.tsx'
import { type LaneRow, placeInLanes } from '../../parts/turn-lanes.ts'
import { formatTokens, formatUsd } from '../../text/format.ts'
import { previewOf } from '../../text/preview.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import { noFilter, passes, TurnFilters } from './turn-filters.tsx'
import styles from './turns.module.css'

const rowHeight = 32
const pageSize = 500

/** All turns of this folder as branches, newest first. */
export default function Turns(): ReactNode {
  const [filter, setFilter] = useState(noFilter)
  const wanted = useDeferredValue(filter)
  const { turns, query } = useAllTurns(filter.isWithAgents)
  const shown = useMemo(() => turns.filter((turn) => passes(turn, wanted)), [turns, wanted])
  const isFiltered = shown.length < turns.length
  return (
    <Page
      title="Turns"
      facts={
        turns.length > 0 && (
          <span>
            {isFiltered ? `${shown.length} of ` : ''}
            {turns.length}
            {query.hasNextPage ? '+' : ''} turns
          </span>
        )
      }
    >
      {query.error && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data && turns.length === 0 && (
        <EmptyState title="There are no turns yet">
          <p>
            A turn is what you said, everything that was done for it, and the answer. Turns form a tree: any of them can
            be forked, compared and explained.
          </p>
          <p>
            <Link href="/s/main">Write the first message</Link>
          </p>
        </EmptyState>
      )}
      {turns.length > 0 && (
        <>
          <TurnFilters turns={turns} filter={filter} onChange={setFilter} />
          <TurnList
            turns={shown}
            isFiltered={isFiltered}
            onEnd={query.hasNextPage && !query.isFetchingNextPage ? () => void query.fetchNextPage() : undefined}
          />
        </>
      )}
    </Page>
  )
}

function useAllTurns(isWithAgents: boolean) {
  const folder = useFolder()
  const query = useInfiniteQuery({
    queryKey: ['tree', folder, 'all', isWithAgents],
    initialPageParam: '',
    queryFn: ({ pageParam: after, signal }) =>
      get<{ turns: TreeTurn[]; next?: string }>(
        '/v1/turns/tree',
        { folder, limit: pageSize, ...(!isWithAgents && { kind: 'person' }), ...(after !== '' && { after }) },
        signal,
      ),
    getNextPageParam: ({ next }) => next,
  })
  const turns = useMemo(() => query.data?.pages.flatMap((page) => page.turns) ?? [], [query.data])
  return { turns, query }
}

interface TurnListProps {
  turns: TreeTurn[]
  /** Some are left out: lines between turns would lead nowhere. */
  isFiltered: boolean
  /** Reads more when the end is near. */
  onEnd: (() => void) | undefined
}

function TurnList({ turns, isFiltered, onEnd }: TurnListProps): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const rows = useMemo(
    () => placeInLanes(isFiltered ? turns.map(({ id }) => ({ id, parentId: null })) : turns),
    [turns, isFiltered],
  )
  const lanes = useMemo(() => countLanes(rows), [rows])
  const list = useVirtualizer({
    count: turns.length,
    getScrollElement: () => place.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  const items = list.getVirtualItems()
  const isNearEnd = (items.at(-1)?.index ?? 0) >= turns.length - 20
  useEffect(() => {
    if (isNearEnd) onEnd?.()
  }, [isNearEnd, onEnd])
  const chosen = useListKeys(turns, (at) => list.scrollToIndex(at))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls, also by keyboard
    <section ref={place} className={styles['list']} tabIndex={0} aria-label="Turns, newest first">
      <ol style={{ height: `${list.getTotalSize()}px` }}>
        {items.map(({ index, start }) => {
          const turn = turns[index]
          const row = rows[index]
          return (
            turn &&
            row && (
              <li
                key={turn.id}
                className={styles['row']}
                style={{ transform: `translateY(${start}px)` }}
                data-chosen={index === chosen}
              >
                <TurnRow turn={turn} row={row} lanes={lanes} />
              </li>
            )
          )
        })}
      </ol>
    </section>
  )
}

function TurnRow({ turn, row, lanes }: { turn: TreeTurn; row: LaneRow; lanes: number }): ReactNode {
  return (
    <>
      <LaneGraph row={row} lanes={lanes} height={rowHeight} />
      <Link href={hrefOf(turn)} className={styles['words']}>
        {previewOf(turn.preview)}
      </Link>
      {turn.status !== 'completed' && <State name={stateOf(turn.status)} />}
      {turn.session !== undefined && <span className={styles['label']}>{withoutBidi(turn.session)}</span>}
      <span className={styles['agent']}>{turn.agent === null ? '' : `@${withoutBidi(turn.agent)}`}</span>
      <span className={styles['model']}>{withoutBidi(turn.model ?? '–')}</span>
      <span className={styles['figure']}>{formatTokens(turn.tokens)} tok</span>
      <span className={styles['figure']}>{formatUsd(turn.costUsd)}</span>
      <span className={styles['age']}>
        <Ago at={turn.timestamp} />
      </span>
    </>
  )
}

function hrefOf(turn: TreeTurn): string {
  return turn.branch === null ? `/t/${turn.id}` : `/s/${encodeURIComponent(turn.branch)}/${turn.id}`
}

/** j and k move, Enter opens; returns the row that is chosen. */
function useListKeys(turns: readonly TreeTurn[], scrollTo: (at: number) => void): number | undefined {
  const [, navigate] = useLocation()
  const [chosen, setChosen] = useState<number>()
  const bound = useMemo(() => {
    const move = (by: number) => () => {
      const next = Math.max(0, Math.min(turns.length - 1, (chosen ?? -1) + by))
      setChosen(next)
      scrollTo(next)
    }
    const turn = turns[chosen ?? -1]
    return [
      { keys: 'j', does: 'Next turn', run: move(1) },
      { keys: 'k', does: 'Turn before', run: move(-1) },
      { keys: 'Enter', does: 'Open the turn', run: () => turn && navigate(hrefOf(turn)) },
      { keys: 'w', does: 'Why this turn', run: () => turn && navigate(`/why/turn:${turn.id}`) },
    ]
  }, [turns, chosen, scrollTo, navigate])
  useKeys(bound)
  return chosen
}
