import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useRun } from '../../api/queries.ts'
import { post } from '../../api/request.ts'
import type { Plan, Task, TaskLine } from '../../api/wire.ts'
import { ActionDialog } from '../../parts/action-dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Failure, Loading } from '../../parts/notice.tsx'
import { Reference } from '../../parts/reference.tsx'
import { State, stateOf } from '../../parts/state.tsx'
import { asSentence } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { RichText } from '../../text/rich-text.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { taskName, withTaskNames } from '../../text/task-name.ts'
import { BriefForm } from './brief-form.tsx'
import { useKeptFocus } from './kept-focus.ts'
import { useResult, useTask } from './plan-data.ts'
import styles from './task-sheet.module.css'
import { outcomeOf, stateOfTask, wordOf } from './task-state.ts'

interface TaskSheetProps {
  line: TaskLine
  plan: Plan
  onClose(): void
}

/** One task: how it stands and why, its brief, its results, and what can be decided about it. */
export function TaskSheet({ line, plan, onClose }: TaskSheetProps): ReactNode {
  const { data: task, error } = useTask(String(line.id))
  return (
    <section className={styles['sheet']} aria-label={taskName(line)}>
      <header className={styles['head']}>
        <span className="quiet">
          {taskName(line)} of {plan.tasks.length} <span className="mono small">task:{line.id}</span>
        </span>
        <span className={styles['close']}>
          <Button look="quiet" aria-label="Close the task" onClick={onClose}>
            ✕
          </Button>
        </span>
      </header>
      {error && <Failure error={error} />}
      {!task && !error && <Loading />}
      {task && (
        <>
          <h2>{withoutBidi(task.title)}</h2>
          {/* The list is the newer of the two while a task runs. */}
          <TaskState task={{ ...task, ...line }} tasks={plan.tasks} />
          <Decisions task={{ ...task, ...line }} />
          <Brief task={task} />
          <Results task={task} />
        </>
      )}
    </section>
  )
}

function TaskState({ task, tasks }: { task: Task; tasks: readonly TaskLine[] }): ReactNode {
  return (
    <div className="stack">
      <p className="row">
        <State name={stateOfTask(task)} word={wordOf(task)} />
        <span>@{withoutBidi(task.skill)}</span>
        {task.model !== null && <span className="mono quiet">{withoutBidi(task.model)}</span>}
        {task.attempts > 1 && <span className="quiet small">{task.attempts} attempts</span>}
        {task.runId !== undefined && <Reference to={`run:${task.runId}`} />}
      </p>
      {task.status === 'failed' && task.runId !== undefined && <FailureReason runId={task.runId} />}
      {task.status === 'running' && task.doing !== undefined && <PlainWords text={outcomeOf(task)} />}
      {task.reason !== undefined && task.status !== 'failed' && (
        <div className="quiet small">
          <PlainWords text={withTaskNames(task.reason, tasks)} />
        </div>
      )}
      {task.dependsOn.length > 0 && (
        <p className="row small">
          <span className="quiet">after</span>
          {task.dependsOn.map((id) => (
            <Link key={id} href={`/plans/${task.planId}?task=${id}`}>
              {taskName(tasks.find((each) => each.id === id) ?? { id })}
            </Link>
          ))}
        </p>
      )}
      {task.lost?.map((words) => (
        <p key={words} className={styles['failed']}>
          {withoutBidi(words)}
        </p>
      ))}
    </div>
  )
}

/** Why the run of a failed task failed, and what helps. */
function FailureReason({ runId }: { runId: string }): ReactNode {
  const { data } = useRun(runId)
  if (!data?.error) return null
  return (
    <div className={styles['failed']} role="note" aria-label="Why it failed">
      <p>{asSentence(withoutBidi(data.error.message))}</p>
      <p className="small">What helps: {withoutBidi(data.error.remedy)}</p>
    </div>
  )
}

type Decision = 'skip' | 'cancel' | 'retry-with' | 'edit'

const words = {
  skip: { action: 'Skip it', text: 'The tasks after it start without its result.' },
  cancel: { action: 'Cancel it', text: 'It stops at its next step. Tasks that depend on it wait for your decision.' },
} as const

function Decisions({ task }: { task: Task }): ReactNode {
  const [open, setOpen] = useState<Decision>()
  const [error, setError] = useState<unknown>()
  const { status, id } = task
  const canRetry = status === 'failed' || status === 'cancelled' || status === 'skipped'
  const canSkip = status === 'failed' || status === 'cancelled' || status === 'blocked' || status === 'pending'
  const canEdit = status === 'pending' || status === 'blocked' || status === 'failed'
  const canCancel = status === 'running' || status === 'pending' || status === 'blocked' || status === 'failed'
  const close = () => setOpen(undefined)
  const place = useKeptFocus()
  if (open === 'edit' || open === 'retry-with')
    return (
      <div {...place}>
        <BriefForm task={task} isRetry={open === 'retry-with'} onClose={close} />
      </div>
    )
  const asked = open === 'skip' || open === 'cancel' ? open : undefined
  return (
    <div className="stack" {...place}>
      <div className={styles['actions']}>
        {canRetry && (
          <Button
            onClick={() => {
              setError(undefined)
              post(`/v1/tasks/${id}`, { action: 'retry' }).catch(setError)
            }}
          >
            Retry
          </Button>
        )}
        {canRetry && <Button onClick={() => setOpen('retry-with')}>Retry with…</Button>}
        {canEdit && <Button onClick={() => setOpen('edit')}>Edit…</Button>}
        {canSkip && <Button onClick={() => setOpen('skip')}>Skip…</Button>}
        {canCancel && (
          <Button look="danger" onClick={() => setOpen('cancel')}>
            Cancel…
          </Button>
        )}
      </div>
      {error !== undefined && <Failure error={error} />}
      {asked && (
        <ActionDialog
          title={`${words[asked].action.replace('it', taskName(task))}?`}
          isOpen
          onClose={close}
          action={words[asked].action}
          asksReason
          onConfirm={(reason) => post(`/v1/tasks/${id}`, { action: asked, ...(reason !== '' && { reason }) })}
        >
          {words[asked].text}
        </ActionDialog>
      )}
    </div>
  )
}

function Brief({ task }: { task: Task }): ReactNode {
  return (
    <section className={styles['part']}>
      <h3>Brief</h3>
      <div className={styles['brief']}>
        <PlainWords text={task.context} />
      </div>
    </section>
  )
}

function Results({ task }: { task: Task }): ReactNode {
  return (
    <section className={styles['part']}>
      <h3>{task.results.length > 1 ? 'Results' : 'Result'}</h3>
      {task.results.length === 0 && <p className="quiet small">None yet.</p>}
      {task.results.toReversed().map(({ id, status, summary }, at) => (
        <details key={id} open={at === 0} className={styles['result']}>
          <summary>
            <State name={stateOf(status)} isBare /> <span className="mono">result:{id}</span>{' '}
            {at > 0 && <span className="quiet">{withoutBidi(summary)}</span>}
          </summary>
          {at === 0 ? <ResultText id={id} /> : <LazyResult id={id} />}
        </details>
      ))}
    </section>
  )
}

/** An older result is read when it is opened. */
function LazyResult({ id }: { id: number }): ReactNode {
  const [isWanted, setWanted] = useState(false)
  if (isWanted) return <ResultText id={id} />
  return <Button onClick={() => setWanted(true)}>Show it</Button>
}

function ResultText({ id }: { id: number }): ReactNode {
  const { data, error } = useResult(id)
  if (error) return <Failure error={error} />
  if (!data) return <Loading />
  return (
    <>
      <RichText text={data.output} />
      {data.artifacts.length > 0 && (
        <ul className="small">
          {data.artifacts.map(({ path, since }) => (
            <li key={path}>
              <Reference to={`file:${path}`} />{' '}
              {since !== undefined && <span className="quiet">{withoutBidi(since)}</span>}
            </li>
          ))}
        </ul>
      )}
      <p className="small">
        <Link href={`/why/${encodeURIComponent(`result:${id}`)}`}>Where it comes from</Link>
      </p>
    </>
  )
}
