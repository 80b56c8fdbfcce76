import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useCallback, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useApprovals, usePlan, useRun, useRuns } from '../../api/queries.ts'
import { newKey, post } from '../../api/request.ts'
import type { Plan } from '../../api/wire.ts'
import { ActionDialog } from '../../parts/action-dialog.tsx'
import { useAddress } from '../../parts/address.ts'
import { ApprovalCard } from '../../parts/approval-card.tsx'
import { Budget } from '../../parts/budget.tsx'
import { Button } from '../../parts/button.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { PlanProgress } from '../../parts/plan-progress.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { countOf } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { taskName, withTaskNames } from '../../text/task-name.ts'
import { GraphCanvas } from './graph-canvas.tsx'
import styles from './plan.module.css'
import { TaskSheet } from './task-sheet.tsx'
import { TaskTable } from './task-table.tsx'

/** A plan as a picture and as a list, and one of its tasks beside it. */
export default function PlanPage(): ReactNode {
  const { id = '' } = useAddress()
  const plan = usePlan(id)
  if (plan.error)
    return (
      <Page title={`plan:${id}`}>
        <Failure error={plan.error} onRetry={() => plan.refetch()} />
      </Page>
    )
  if (!plan.data)
    return (
      <Page title={`plan:${id}`}>
        <Loading />
      </Page>
    )
  return <LoadedPlan plan={plan.data} />
}

function LoadedPlan({ plan }: { plan: Plan }): ReactNode {
  const [search] = useSearchParams()
  const [, navigate] = useLocation()
  const view = search.get('view') ?? (window.innerWidth < 760 ? 'list' : 'picture')
  const task = plan.tasks.find(({ id }) => String(id) === search.get('task'))
  const opened = task?.id
  const address = useCallback(
    (next: { view?: string; task?: number | undefined }) => {
      const query = new URLSearchParams()
      const shown = next.view ?? search.get('view')
      const beside = 'task' in next ? next.task : opened
      if (shown !== null && shown !== undefined) query.set('view', shown)
      if (beside !== undefined) query.set('task', String(beside))
      return `/plans/${plan.id}${query.size === 0 ? '' : `?${query}`}`
    },
    [plan.id, search, opened],
  )
  const open = useCallback((id: number) => navigate(address({ task: id })), [navigate, address])
  const close = useCallback(
    () => navigate(opened === undefined ? '/plans' : address({ task: undefined })),
    [navigate, address, opened],
  )
  useRowKeys(close)
  return (
    <Page
      title={`plan:${plan.id} ${plan.title}`}
      heading={
        <>
          {withoutBidi(plan.title)} <span className="mono quiet">plan:{plan.id}</span>
        </>
      }
      facts={
        <>
          <PlanProgress plan={plan} />
          <PlanBudget runId={plan.runId} />
        </>
      }
      actions={<CancelPlan plan={plan} />}
      side={
        task === undefined
          ? undefined
          : {
              label: taskName(task),
              content: <TaskSheet key={task.id} line={task} plan={plan} onClose={close} />,
              onClose: close,
            }
      }
    >
      <Start plan={plan} />
      <Troubles plan={plan} />
      <div className={styles['tabs']}>
        <Filters
          label="View of the plan"
          chosen={view}
          choices={[
            { value: 'list', label: 'List', href: address({ view: 'list' }) },
            { value: 'picture', label: 'Picture', href: address({ view: 'picture' }) },
          ]}
        />
        {plan.goal !== null && (
          <div className={styles['goal']}>
            <PlainWords text={plan.goal} isSerif />
          </div>
        )}
      </div>
      {view === 'picture' ? (
        <GraphCanvas tasks={plan.tasks} opened={opened} onOpen={open} />
      ) : (
        <TaskTable tasks={plan.tasks} opened={opened} addressOf={(id) => address({ task: id })} />
      )}
    </Page>
  )
}

/** What the request that pays for the plan has cost. */
function PlanBudget({ runId }: { runId: string }): ReactNode {
  const { data } = useRun(runId)
  return data ? <Budget spent={data.budget.spentUsd} of={data.budget.usd} what="for the request" /> : null
}

/** The approval that starts the plan; of one that was not started, a button. */
function Start({ plan }: { plan: Plan }): ReactNode {
  const { data } = useApprovals()
  const approval = data?.find(({ id }) => id === plan.approvalId)
  if (approval)
    return (
      <div className={styles['start']}>
        <ApprovalCard approval={approval} />
      </div>
    )
  const { folder, session, status } = plan
  if (status !== 'proposed' || folder === null || session === null) return null
  return <StartUnasked id={plan.id} folder={folder} session={session} />
}

/** Asks the session of a plan to start it, in the words that a person would use; not while a run may do so by itself. */
function StartUnasked({ id, folder, session }: { id: number; folder: string; session: string }): ReactNode {
  const { data: runs } = useRuns({ folder, requestsOf: session, limit: 100 })
  const start = useMutation({
    mutationFn: () =>
      post('/v1/inputs', { folder, session, content: `run plan ${id}`, attended: true, dedupeKey: newKey() }),
  })
  if (!runs || runs.some((run) => run.session === session)) return null
  return (
    <div className={styles['troubles']}>
      <p>This plan was made and not started.</p>
      <p>
        <Button look="main" disabled={start.isPending || start.isSuccess} onClick={() => start.mutate()}>
          Start the plan
        </Button>
      </p>
      {start.error && <Failure error={start.error} />}
    </div>
  )
}

/** Failed tasks that are named above the plan. */
const maxNamed = 4

/** What needs a decision: tasks that failed, and files that two tasks write. */
function Troubles({ plan: { id, tasks, warnings = [], lost = [] } }: { plan: Plan }): ReactNode {
  const failed = tasks.filter(({ status }) => status === 'failed')
  const waiting = tasks.filter(({ status }) => status === 'blocked').length
  if (failed.length + warnings.length + lost.length === 0) return null
  return (
    <ul className={styles['troubles']}>
      {failed.slice(0, maxNamed).map((task) => (
        <li key={task.id}>
          <Link href={`/plans/${id}?task=${task.id}`}>
            {taskName(task)}, {withoutBidi(task.title)}
          </Link>
          , failed{task.summary !== undefined && `: ${withoutBidi(task.summary.replace(/^Failed: /, ''))}`}
        </li>
      ))}
      {failed.length > maxNamed && <li>{failed.length - maxNamed} more failed.</li>}
      {failed.length > 0 && waiting > 0 && (
        <li>
          {countOf(waiting, 'more task')} {waiting === 1 ? 'waits' : 'wait'} for your decision: retry, edit or skip what
          failed.
        </li>
      )}
      {[...warnings, ...lost].map((words) => (
        <li key={words}>{withoutBidi(withTaskNames(words, tasks))}</li>
      ))}
    </ul>
  )
}

function CancelPlan({ plan }: { plan: Plan }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const canCancel = plan.status === 'running' || plan.status === 'proposed' || plan.needsYou
  if (!canCancel && !isOpen) return null
  return (
    <>
      <Button look="danger" onClick={() => setOpen(true)}>
        Cancel the plan
      </Button>
      <ActionDialog
        title={`Cancel plan:${plan.id}?`}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        action="Cancel it"
        asksReason
        onConfirm={(reason) => post(`/v1/plans/${plan.id}/cancel`, reason === '' ? {} : { reason })}
      >
        Running tasks stop at their next step, the others do not start. Results so far stay.
      </ActionDialog>
    </>
  )
}
