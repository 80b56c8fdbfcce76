import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useEffect, useMemo } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useRun } from '../../api/queries.ts'
import { get } from '../../api/request.ts'
import type { Run, RunLine } from '../../api/wire.ts'
import { useAddress } from '../../parts/address.ts'
import { buttonLook } from '../../parts/button.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { Reference, TaskOfRun } from '../../parts/reference.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { RunRow } from '../../parts/run-row.tsx'
import { approvalIn, isAskedByPerson, treesOf, wordsOf } from '../../parts/run-tree.ts'
import { State, stateOfRun } from '../../parts/state.tsx'
import { asSentence, shortId } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './run.module.css'
import { RunActions } from './run-actions.tsx'
import { RunFacts } from './run-facts.tsx'
import { RunLog } from './run-log.tsx'
import { RunTimeline } from './run-timeline.tsx'

const views = ['tree', 'time', 'log'] as const
type View = (typeof views)[number]

/** One run: why it is there, with which model and tools it works, what it did, and what can be done about it. */
export default function RunPage(): ReactNode {
  const { id = '' } = useAddress()
  const run = useRun(id)
  const [, navigate] = useLocation()
  const back = useCallback(() => navigate('/runs'), [navigate])
  useRowKeys(back)
  useWholeId(id, run.data?.id)
  if (run.error)
    return (
      <Page title={`run:${shortId(id)}`}>
        <Failure error={run.error} onRetry={() => run.refetch()} />
      </Page>
    )
  if (!run.data)
    return (
      <Page title={`run:${shortId(id)}`}>
        <Loading />
      </Page>
    )
  return <LoadedRun run={run.data} />
}

/** A short id in the address becomes the whole one, so that the address can be kept. */
function useWholeId(id: string, whole: string | undefined): void {
  const [, navigate] = useLocation()
  useEffect(() => {
    if (whole !== undefined && whole !== id) navigate(`/runs/${whole}${window.location.search}`, { replace: true })
  }, [id, whole, navigate])
}

function LoadedRun({ run }: { run: Run }): ReactNode {
  const [search] = useSearchParams()
  const request = useRunsOfRequest(run.rootRunId)
  const tree = useMemo(() => treesOf(request)[0]?.rows ?? [], [request])
  const hasOthers = tree.length > 1
  const view: View = views.find((each) => each === search.get('view')) ?? (hasOthers ? 'tree' : 'log')
  const name = `run:${shortId(run.id)}`
  return (
    <Page
      title={`${name} @${run.agent ?? 'agent'}`}
      heading={
        <span className={styles['name']}>
          <span>
            <State name={stateOfRun(run)} isBare /> @{run.agent ?? 'agent'}
          </span>
          <span className="mono quiet">{name}</span>
        </span>
      }
      facts={<Lineage run={run} request={request} />}
      actions={<RunActions run={run} />}
    >
      {run.error && (
        <div className={styles['error']} role="note" aria-label="Why it failed">
          <p>
            <State name="failed" word={asSentence(withoutBidi(run.error.message))} />
          </p>
          <p className="small">
            What helps: {withoutBidi(run.error.remedy)} <span className="mono quiet">{run.error.code}</span>
          </p>
        </div>
      )}
      {run.waitingFor !== undefined && (
        <p className={styles['waits']}>
          <State name={stateOfRun(run)} word="waits" /> <PlainWords text={waitWords(run)} />
          {approvalIn(run) !== undefined && (
            <Link href={`/needs/${approvalIn(run)}`} className={buttonLook('main')}>
              Look and answer
            </Link>
          )}
        </p>
      )}
      <div className={styles['asked']}>
        <PlainWords text={wordsOf(run)} isSerif={isAskedByPerson(run)} />
      </div>
      <RunFacts run={run} />
      <div className={styles['tabs']}>
        <Filters
          label="View of this run"
          chosen={view}
          choices={views.map((each) => ({ value: each, label: labels[each], href: `/runs/${run.id}?view=${each}` }))}
        />
      </div>
      {view === 'tree' && (
        <ul className={styles['tree']}>
          {tree.map(({ run: each, depth }) => (
            <RunRow key={each.id} run={each} depth={depth} isShown={each.id === run.id} />
          ))}
        </ul>
      )}
      {view === 'time' && <RunTimeline run={run} rows={tree} />}
      {view === 'log' && <RunLog run={run} />}
    </Page>
  )
}

const labels: Record<View, string> = { tree: 'Tree', time: 'Time', log: 'Log' }

function waitWords({ waitingFor = '', doing }: Run): string {
  return (doing === '' ? waitingFor : doing).replace(/ \(heddle approve \d+\)/, '')
}

function useRunsOfRequest(root: string): RunLine[] {
  const { data } = useQuery({
    queryKey: ['runs', 'request', root],
    queryFn: ({ signal }) => get<{ runs: RunLine[] }>('/v1/runs', { all: true, root, limit: 1000 }, signal),
  })
  return data?.runs ?? []
}

/** Where the run comes from: its task, the runs above it, and the session that was asked. */
function Lineage({ run, request }: { run: Run; request: RunLine[] }): ReactNode {
  const byId = new Map(request.map((each) => [each.id, each]))
  const above: RunLine[] = []
  for (let at = byId.get(run.parentRunId ?? ''); at && above.length < 12; at = byId.get(at.parentRunId ?? ''))
    above.push(at)
  const line = byId.get(run.id)
  const root = byId.get(run.rootRunId)
  return (
    <span className={styles['lineage']}>
      {line && <TaskOfRun run={line} />}
      {above.map(({ id, agent }) => (
        <span key={id}>
          ← @{agent ?? 'agent'} <Reference to={`run:${id}`} />
        </span>
      ))}
      {root?.session && root.via === 'user' && (
        <span>
          ← you, in <Link href={`/s/${encodeURIComponent(root.session)}`}>{withoutBidi(root.session)}</Link>
        </span>
      )}
    </span>
  )
}
