import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useFolder } from '../../api/folder.ts'
import { useMe } from '../../api/me.ts'
import { useApprovals, usePlans, useRuns, useSessions, useStatus, useWaitingPlans } from '../../api/queries.ts'
import type { Approval, PlanLine, RunLine, Session, Status } from '../../api/wire.ts'
import { Ago } from '../../parts/ago.tsx'
import { actOf } from '../../parts/approval-card.tsx'
import { DayBudget } from '../../parts/budget.tsx'
import { buttonLook } from '../../parts/button.tsx'
import { sizeOfChange } from '../../parts/change-view.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { PlanProgress } from '../../parts/plan-progress.tsx'
import { Reference } from '../../parts/reference.tsx'
import { State, stateOf, stateOfRun } from '../../parts/state.tsx'
import { WaitingPlan } from '../../parts/waiting-plan.tsx'
import { countOf, formatDuration, formatTime, shortPath } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { doingOf, previewOf } from '../../text/preview.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './overview.module.css'

/** What a person wants to know first: what needs them, what is running, what it costs, and what is new. */
export default function Overview(): ReactNode {
  const folder = useFolder()
  const status = useStatus()
  const approvals = useApprovals()
  const runs = useRuns({ limit: 50 })
  const plans = usePlans()
  const stopped = useWaitingPlans().data ?? []
  const sessions = useSessions()
  const { data } = status
  if (status.error)
    return (
      <Page title="Overview">
        <Failure error={status.error} onRetry={() => status.refetch()} />
      </Page>
    )
  if (!data)
    return (
      <Page title="Overview">
        <Loading />
      </Page>
    )
  const work = (runs.data ?? []).filter(({ via }) => via !== 'narrator')
  const open = (plans.data ?? []).filter(
    ({ status, needsYou }) => !needsYou && (status === 'running' || status === 'proposed'),
  )
  const waiting = approvals.data ?? []
  const talks = (sessions.data ?? []).filter(({ sessionKind, archived }) => sessionKind === 'person' && !archived)
  return (
    <Page
      title="Overview"
      heading={<span className="mono">{withoutBidi(shortPath(folder))}</span>}
      facts={<DayBudget status={data} />}
      actions={
        <Link href={`/s/${encodeURIComponent(data.session)}`} className={buttonLook('main')}>
          Open chat
        </Link>
      }
    >
      <SinceStart isQuiet={work.length === 0} />
      {sessions.data && talks.length === 0 && <FirstSteps session={data.session} />}
      {waiting.length + stopped.length > 0 && <NeedsYou approvals={waiting} plans={stopped} folder={folder} />}
      {open.length > 0 && <OpenPlans plans={open} />}
      {work.length > 0 && <Running runs={work} />}
      {data.sinceLast.length > 0 && <SinceLast turns={data.sinceLast} />}
      {talks.length > 0 && <Talks sessions={talks} />}
      <Jobs status={data} />
    </Page>
  )
}

function FirstSteps({ session }: { session: string }): ReactNode {
  return (
    <EmptyState title="Nothing has happened here yet">
      <p>
        Give the coordinator something to do. It plans, starts agents and asks before anything is written. Here you then
        see what runs, what it waits for, and what it costs.
      </p>
      <p>
        <Link href={`/s/${encodeURIComponent(session)}`}>Write to the coordinator</Link>
      </p>
    </EmptyState>
  )
}

/** When Heddle started and, after a crash, what became of the runs of the process that died. */
function SinceStart({ isQuiet }: { isQuiet: boolean }): ReactNode {
  const { since, recovered } = useMe()
  const isAfterCrash = recovered !== null && recovered.resumed.length + recovered.quarantined.length > 0
  if (!isAfterCrash)
    return (
      <p className={styles['since']}>
        Up since {formatTime(since)}.{isQuiet && ' Nothing is running.'}
      </p>
    )
  const { resumed, quarantined, lost, unknownCalls } = recovered
  return (
    <div className={styles['crash']}>
      <p>
        Started {formatTime(since)} after a crash: {countOf(resumed.length, 'run')} resumed, {lost} lost
        {quarantined.length > 0 && `, ${quarantined.length} set aside after crashing three times`}.
        {unknownCalls > 0 && ` Of ${countOf(unknownCalls, 'call')} the outcome is unknown; none was repeated.`}
      </p>
      <p className="row small">
        {[...resumed, ...quarantined].slice(0, 8).map((id) => (
          <Reference key={id} to={`run:${id}`} />
        ))}
      </p>
    </div>
  )
}

function NeedsYou({
  approvals,
  plans,
  folder,
}: {
  approvals: Approval[]
  plans: PlanLine[]
  folder: string
}): ReactNode {
  const [oldest] = approvals
  const count = approvals.length + plans.length
  return (
    <Section
      title={<State name="needs-you" word={`${count} ${count === 1 ? 'needs' : 'need'} you`} />}
      more={
        oldest && (
          <>
            oldest <Ago at={oldest.askedAt} />
          </>
        )
      }
    >
      <ul className={styles['list']}>
        {approvals.map(({ id, agent, tool, change, facts, request, runId }) => (
          <li key={id} className={styles['ask']}>
            <span className={styles['what']}>
              <strong>@{withoutBidi(agent)}</strong> asks to {withoutBidi(actOf(tool))}{' '}
              <span className="quiet">
                {withoutBidi(facts.find(({ name }) => name === 'where')?.value.replace(`${folder}/`, '') ?? '')}
              </span>{' '}
              <span className="mono quiet">{sizeOfChange(change)}</span>
            </span>
            <span className={styles['for']}>{withoutBidi(request)}</span>
            <Reference to={`run:${runId}`} />
            <Link href={`/needs/${id}`} className={buttonLook()}>
              Look
            </Link>
          </li>
        ))}
        {plans.map((plan) => (
          <li key={plan.id}>
            <WaitingPlan plan={plan} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function OpenPlans({ plans }: { plans: PlanLine[] }): ReactNode {
  return (
    <Section title="Plans">
      <ul className={styles['list']}>
        {plans.map((plan) => (
          <li key={plan.id} className={styles['plan']}>
            <Link href={`/plans/${plan.id}`}>{withoutBidi(plan.title)}</Link>
            <span className="mono quiet">plan:{plan.id}</span>
            <PlanProgress plan={plan} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Running({ runs }: { runs: RunLine[] }): ReactNode {
  return (
    <Section title={<State name="running" word={countOf(runs.length, 'run')} />} more="what each waits for">
      <div className={styles['wide']}>
        <table className={styles['runs']}>
          <thead className="visually-hidden">
            <tr>
              <th scope="col">State</th>
              <th scope="col">Run</th>
              <th scope="col">Agent</th>
              <th scope="col">Doing</th>
              <th scope="col">Age</th>
              <th scope="col">Waits for</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id}>
                <td>
                  <State name={stateOfRun(run)} />
                </td>
                <td>
                  <Reference to={`run:${run.id}`} />
                </td>
                <td style={{ paddingInlineStart: `${run.depth * 16}px` }}>@{run.agent ?? 'agent'}</td>
                <td className={styles['doing']}>{doingOf(run.doing)}</td>
                <td className="mono quiet">{formatDuration(run.ageSeconds)}</td>
                <td>
                  <WaitsFor run={run} runs={runs} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  )
}

/** What a run waits for, as links: an answer of yours, or the runs that it started. */
function WaitsFor({ run, runs }: { run: RunLine; runs: RunLine[] }): ReactNode {
  const { data: approvals = [] } = useApprovals()
  const asked = approvals.filter(({ runId }) => runId === run.id)
  if (asked.length > 0)
    return (
      <span className="row">
        <State name="needs-you" word="you" />
        {asked.map(({ id }) => (
          <Reference key={id} to={`approval:${id}`} />
        ))}
      </span>
    )
  if (run.waitingFor !== undefined) return <PlainWords text={run.waitingFor} />
  const children = runs.filter(({ parentRunId }) => parentRunId === run.id)
  if (children.length === 0) return <span className="quiet">–</span>
  return (
    <span className="row">
      {children.map(({ id }) => (
        <Reference key={id} to={`run:${id}`} />
      ))}
    </span>
  )
}

function SinceLast({ turns }: { turns: Status['sinceLast'] }): ReactNode {
  const failed = turns.filter(({ status }) => status !== 'completed').length
  const words = [countOf(turns.length, 'turn'), ...(failed > 0 ? [`${failed} did not complete`] : [])].join(', ')
  return (
    <Section title="Since you were here" more={words}>
      <ul className={styles['list']}>
        {turns
          .slice(-12)
          .toReversed()
          .map(({ turnId, session, status, preview, at }) => (
            <li key={turnId} className={styles['turn']}>
              <State name={stateOf(status)} isBare />
              <Link href={`/s/${encodeURIComponent(session)}/${turnId}`} className={styles['preview']}>
                {previewOf(preview)}
              </Link>
              <span className="quiet small">{withoutBidi(session)}</span>
              <span className="quiet small">
                <Ago at={at} />
              </span>
            </li>
          ))}
      </ul>
    </Section>
  )
}

/** Where to go on. */
function Talks({ sessions }: { sessions: Session[] }): ReactNode {
  return (
    <Section title="Sessions" more={<Link href="/turns">all turns</Link>}>
      <ul className={styles['list']}>
        {sessions.slice(0, 6).map(({ id, label, depth, updatedAt }) => (
          <li key={id} className={styles['turn']}>
            <span aria-hidden="true">›</span>
            <Link href={`/s/${encodeURIComponent(label)}`} className={styles['preview']}>
              {withoutBidi(label)}
            </Link>
            <span className="quiet small">{countOf(depth, 'turn')}</span>
            <span className="quiet small">
              <Ago at={updatedAt} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Jobs({ status: { nextFires, disabledJobs, deadMessages, jobsHeld } }: { status: Status }): ReactNode {
  if (nextFires.length + disabledJobs + deadMessages === 0 && !jobsHeld) return null
  return (
    <Section title="Next">
      <ul className={styles['list']}>
        {nextFires.slice(0, 5).map(({ job, name, at }) => (
          <li key={`${job}-${at}`}>
            {formatTime(at)} <span className="quiet">{withoutBidi(name)}</span>
          </li>
        ))}
        {disabledJobs > 0 && (
          <li>
            <Link href="/cron">{countOf(disabledJobs, 'job')}</Link> turned off after failures
          </li>
        )}
        {deadMessages > 0 && (
          <li>
            {countOf(deadMessages, 'message')} could not be sent: <code>heddle cron outbox --dead</code>
          </li>
        )}
        {jobsHeld && (
          <li>
            Jobs are paused after a restore: <code>heddle cron resume</code>
          </li>
        )}
      </ul>
    </Section>
  )
}
