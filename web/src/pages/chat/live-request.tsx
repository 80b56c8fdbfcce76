import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRun, useRunSteps } from '../../api/queries.ts'
import type { Approval, PlanLine, RunLine } from '../../api/wire.ts'
import { useRunText } from '../../live/use-live.ts'
import { ApprovalCard } from '../../parts/approval-card.tsx'
import { PlanProgress } from '../../parts/plan-progress.tsx'
import { Reference } from '../../parts/reference.tsx'
import { State, stateOfRun } from '../../parts/state.tsx'
import { StepList } from '../../parts/step-list.tsx'
import { formatDuration } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { doingOf, previewOf } from '../../text/preview.ts'
import { RichText } from '../../text/rich-text.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './live-request.module.css'
import words from './turn-block.module.css'

interface LiveRequestProps {
  /** The session's own run; undefined while only what it started is running. */
  run: RunLine | undefined
  /** What it started, and what that started. */
  others: RunLine[]
  plans: PlanLine[]
  approvals: Approval[]
}

/** What is under way for a session: the answer as it is written, agents, plans, and what needs you. */
export function LiveRequest({ run, others, plans, approvals }: LiveRequestProps): ReactNode {
  return (
    <div className={styles['live']}>
      {run && <RunningAnswer key={run.id} run={run} />}
      {others.length > 0 && (
        <ul className={styles['runs']} aria-label="Agents">
          {others.map((each) => (
            <AgentLine key={each.id} run={each} />
          ))}
        </ul>
      )}
      {plans.map((plan) => (
        <p key={plan.id} className={styles['plan']}>
          <Link href={`/plans/${plan.id}`}>
            plan:{plan.id} {withoutBidi(plan.title)}
          </Link>
          <PlanProgress plan={plan} />
        </p>
      ))}
      {approvals.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
    </div>
  )
}

function RunningAnswer({ run }: { run: RunLine }): ReactNode {
  const { data } = useRun(run.id)
  const text = useRunText(run.id)
  const { data: done } = useRunSteps(run.id)
  const steps = done?.steps ?? []
  // A stored reply replaces what was shown of it.
  const isStored = steps.some((step) => text !== undefined && step.text?.startsWith(text.text.trimEnd()))
  return (
    <article className={words['turn']} aria-label="Answer under way" aria-busy="true">
      {data && data.asked !== '' && <Asked text={data.asked} />}
      <div className={words['answer']}>
        <p className={words['who']}>@{run.agent ?? 'coordinator'}</p>
        <StepList steps={steps} />
        {text && !isStored && (
          <div aria-live="off">
            <RichText text={text.text} isGrowing />
          </div>
        )}
        <p className={styles['state']}>
          <RunState run={run} /> <span className="quiet small">{doingOf(run.doing)}</span>
        </p>
      </div>
    </article>
  )
}

/** What is answered: a person's words, or the report that woke the session. */
function Asked({ text }: { text: string }): ReactNode {
  if (text.startsWith('[agent_result:'))
    return (
      <p className={words['report']}>
        <span className={words['who']}>reported</span> {previewOf(text)}
      </p>
    )
  return (
    <div className={words['you']}>
      <p className={words['who']}>you</p>
      <PlainWords text={text} isSerif />
    </div>
  )
}

function AgentLine({ run }: { run: RunLine }): ReactNode {
  return (
    <li className={styles['run']} style={{ paddingInlineStart: `${Math.max(0, run.depth - 1) * 20}px` }}>
      <RunState run={run} />
      <span>@{run.agent ?? 'agent'}</span>
      <span className={styles['doing']}>{doingOf(run.doing)}</span>
      <span className="quiet small">{formatDuration(run.ageSeconds)}</span>
      <Reference to={`run:${run.id}`} />
    </li>
  )
}

function RunState({ run }: { run: RunLine }): ReactNode {
  const name = stateOfRun(run)
  return <State name={name} {...(run.waitingFor && name === 'waiting' && { word: `waits: ${run.waitingFor}` })} />
}
