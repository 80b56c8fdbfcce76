import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { usePlans } from '../../api/queries.ts'
import { Ago } from '../../parts/ago.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { PlanProgress } from '../../parts/plan-progress.tsx'
import { rowMark, useRowKeys } from '../../parts/row-keys.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './plans.module.css'

/** Plans of this folder, the newest first. */
export default function Plans(): ReactNode {
  const plans = usePlans()
  useRowKeys()
  return (
    <Page title="Plans">
      {plans.isPending && <Loading />}
      {plans.error && <Failure error={plans.error} onRetry={() => plans.refetch()} />}
      {plans.data?.length === 0 && <NoPlans />}
      <ul className={styles['plans']}>
        {plans.data?.map((plan) => (
          <li key={plan.id} className={styles['plan']}>
            <Link href={`/plans/${plan.id}`} className={styles['link']} {...rowMark}>
              {withoutBidi(plan.title)}
            </Link>
            <span className="mono quiet">plan:{plan.id}</span>
            <PlanProgress plan={plan} />
            <span className={styles['when']}>
              {plan.session !== null && <span>{withoutBidi(plan.session)} · </span>}
              <Ago at={plan.createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </Page>
  )
}

function NoPlans(): ReactNode {
  return (
    <EmptyState title="No plans yet">
      <p>
        For work with several parts, the coordinator makes a plan: tasks for agents, and which of them must be done
        before which. You see it before it starts, watch it run here, and decide about tasks that fail.
      </p>
      <p>
        Try it: <Link href="/s/main">write</Link> “survey and report per part”.
      </p>
    </EmptyState>
  )
}
