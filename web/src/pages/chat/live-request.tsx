import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Approval, PlanLine, RunLine } from '../../api/wire.ts'
import { ApprovalCard } from '../../parts/approval-card.tsx'
import { PlanProgress } from '../../parts/plan-progress.tsx'
import { Reference } from '../../parts/reference.tsx'
import { RunState } from '../../parts/state.tsx'
import { formatDuration } from '../../text/format.ts'
import { doingOf } from '../../text/preview.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './live-request.module.css'

interface LiveRequestProps {
  /** What the session's own run started, and what that started. */
  runs: RunLine[]
  plans: PlanLine[]
  approvals: Approval[]
}

/** What is under way for a session beside its answer: agents, plans, and what needs you. */
export function LiveRequest({ runs, plans, approvals }: LiveRequestProps): ReactNode {
  return (
    <div className={styles['live']}>
      {runs.length > 0 && (
        <ul className={styles['runs']} aria-label="Agents">
          {runs.map((each) => (
            <AgentLine key={each.id} run={each} />
          ))}
        </ul>
      )}
      {plans.map((plan) => (
        <p key={plan.id} className={styles['plan']}>
          <Link href={`/plans/${plan.id}`}>{withoutBidi(plan.title)}</Link>
          <span className="mono quiet">plan:{plan.id}</span>
          <PlanProgress plan={plan} />
        </p>
      ))}
      {approvals.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
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
