import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { RunLine } from '../../api/wire.ts'
import { Ago } from '../../parts/ago.tsx'
import { Button } from '../../parts/button.tsx'
import { Filters } from '../../parts/filters.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { RunRow } from '../../parts/run-row.tsx'
import { isOver, type RequestTree, treesOf } from '../../parts/run-tree.ts'
import { countOf, formatCost } from '../../text/format.ts'
import { useHeldBack } from './held-back.ts'
import styles from './runs.module.css'

const pageSize = 200
const views = ['all', 'running', 'failed'] as const
type View = (typeof views)[number]

/** All runs as trees, a request each, the newest first. */
export default function Runs(): ReactNode {
  const [search] = useSearchParams()
  const view = views.find((each) => each === search.get('show')) ?? 'all'
  const isEverywhere = search.get('where') === 'everywhere'
  const runs = useRunPages(view, isEverywhere)
  const all = useMemo(() => runs.data?.pages.flatMap((page) => page.runs) ?? [], [runs.data])
  const trees = useMemo(() => treesOf(all), [all])
  const { shown, held, showHeld } = useHeldBack(trees)
  useRowKeys()
  const running = all.filter((run) => !isOver(run)).length
  return (
    <Page
      title="Runs"
      facts={
        <>
          {view !== 'failed' && <span>{running === 0 ? 'nothing is running' : `${running} running`}</span>}
          <Filters
            label="Which runs"
            chosen={view}
            choices={[
              { value: 'all', label: 'All', href: address('all', isEverywhere) },
              { value: 'running', label: 'Running', href: address('running', isEverywhere) },
              { value: 'failed', label: 'Failed', href: address('failed', isEverywhere) },
            ]}
          />
          <Filters
            label="Where"
            chosen={isEverywhere ? 'everywhere' : 'here'}
            choices={[
              { value: 'here', label: 'This folder', href: address(view, false) },
              { value: 'everywhere', label: 'Everywhere', href: address(view, true) },
            ]}
          />
        </>
      }
    >
      {runs.isPending && <Loading />}
      {runs.error && <Failure error={runs.error} onRetry={() => runs.refetch()} />}
      {held > 0 && (
        <p className={styles['held']}>
          <Button onClick={showHeld}>{countOf(held, 'new request')} ↑</Button>
        </p>
      )}
      {shown.map((tree) => (
        <Request key={tree.root} tree={tree} />
      ))}
      {runs.data && trees.length === 0 && <NoRuns view={view} />}
      {runs.hasNextPage && (
        <p>
          <Button disabled={runs.isFetchingNextPage} onClick={() => runs.fetchNextPage()}>
            Show older runs
          </Button>
        </p>
      )}
    </Page>
  )
}

function address(view: View, isEverywhere: boolean): string {
  const query = new URLSearchParams()
  if (view !== 'all') query.set('show', view)
  if (isEverywhere) query.set('where', 'everywhere')
  return query.size === 0 ? '/runs' : `/runs?${query}`
}

function useRunPages(view: View, isEverywhere: boolean) {
  const folder = useFolder()
  const fields = {
    all: view !== 'running',
    limit: pageSize,
    ...(view === 'failed' && { failed: true }),
    ...(!isEverywhere && { folder }),
  }
  return useInfiniteQuery({
    queryKey: ['runs', 'tree', fields],
    initialPageParam: '',
    queryFn: ({ pageParam: after, signal }) =>
      get<{ runs: RunLine[]; next?: string }>('/v1/runs', { ...fields, ...(after !== '' && { after }) }, signal),
    getNextPageParam: ({ next }) => next,
  })
}

function Request({ tree: { root, rows } }: { tree: RequestTree }): ReactNode {
  const [first] = rows
  if (!first) return null
  const sum = rows.reduce((total, { run }) => total + run.costUsd + run.estimatedUsd + run.lostUsd, 0)
  return (
    <section className={styles['request']} aria-label={`Request ${root}`}>
      <p className={styles['head']}>
        <Ago at={first.run.createdAt} />
        {first.run.session !== null && first.depth === 0 && first.run.via === 'user' && (
          <Link href={`/s/${encodeURIComponent(first.run.session)}`}>{first.run.session}</Link>
        )}
        {rows.length > 1 && <span>{countOf(rows.length, 'run')}</span>}
        {sum > 0 && <span>{formatCost({ costUsd: sum })}</span>}
      </p>
      <ul className={styles['runs']}>
        {rows.map(({ run, depth }) => (
          <RunRow key={run.id} run={run} depth={depth} />
        ))}
      </ul>
    </section>
  )
}

function NoRuns({ view }: { view: View }): ReactNode {
  if (view === 'failed') return <EmptyState title="No run has failed" />
  if (view === 'running') return <EmptyState title="Nothing is running" />
  return (
    <EmptyState title="No runs yet">
      <p>
        Each message you send starts a run, and so does each agent that works on it. Here you see them as a tree while
        they work: what each does, what it waits for, and what it costs.
      </p>
      <p>
        <Link href="/s/main">Write a message</Link>
      </p>
    </EmptyState>
  )
}
