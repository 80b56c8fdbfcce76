import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { usePlan } from '../api/queries.ts'
import type { Plan, PlanLine } from '../api/wire.ts'
import { countOf } from '../text/format.ts'
import { withoutBidi } from '../text/safe-text.ts'
import { taskName } from '../text/task-name.ts'
import { Ago } from './ago.tsx'
import card from './approval-card.module.css'
import { buttonLook } from './button.tsx'
import { Reference } from './reference.tsx'
import { State } from './state.tsx'
import styles from './waiting-plan.module.css'

/** Failed tasks that are named. */
const maxNamed = 3

/** A plan that only the reader can carry on: what holds it up, and the way to the answer. */
export function WaitingPlan({ plan }: { plan: PlanLine }): ReactNode {
  const { data } = usePlan(String(plan.id))
  const failed = data?.tasks.filter(({ status }) => status === 'failed') ?? []
  const [first] = failed
  return (
    <article className={card['card']} aria-label={`Plan ${plan.id}`}>
      <p className={styles['head']}>
        <State name="needs-you" word={headOf(plan)} />
        <span className={styles['about']}>
          {plan.finishedAt !== null && (
            <>
              <Ago at={plan.finishedAt} /> ·{' '}
            </>
          )}
          <Reference to={`plan:${plan.id}`} />
        </span>
      </p>
      {failed.slice(0, maxNamed).map((task) => (
        <p key={task.id}>
          <Link href={`/plans/${plan.id}?task=${task.id}`}>
            {taskName(task)}, {withoutBidi(task.title)}
          </Link>
          , failed{reasonOf(task)}
        </p>
      ))}
      {failed.length > maxNamed && <p>{countOf(failed.length - maxNamed, 'more task')} failed.</p>}
      <p className={styles['foot']}>
        <span className="quiet small">{choicesFor(plan)}</span>
        <Link href={`/plans/${plan.id}${first ? `?task=${first.id}` : ''}`} className={buttonLook('main')}>
          Decide
        </Link>
      </p>
    </article>
  )
}

function headOf({ title, status }: PlanLine): string {
  const name = `The plan “${withoutBidi(title)}”`
  if (status === 'proposed') return `${name} was not started`
  return status === 'running' ? `${name} cannot finish without you` : `${name} has stopped`
}

function reasonOf({ summary }: Plan['tasks'][number]): string {
  return summary === undefined ? '.' : `: ${withoutBidi(summary.replace(/^Failed: /, ''))}`
}

function choicesFor({ status, counts }: PlanLine): string {
  if (status === 'proposed') return 'Start it, or cancel it.'
  const held = counts.blocked ? `${countOf(counts.blocked, 'task')} ${counts.blocked === 1 ? 'waits' : 'wait'}. ` : ''
  return `${held}Retry, change or skip what failed, or cancel the plan.`
}
