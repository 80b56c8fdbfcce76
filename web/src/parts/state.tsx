import type { ReactNode } from 'react'
import type { RunLine } from '../api/wire.ts'
import styles from './state.module.css'

/** States of runs, tasks and plans as people see them. */
export type StateName =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'needs-you'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'unknown'

const words: Record<StateName, string> = {
  queued: 'queued',
  running: 'running',
  waiting: 'waiting',
  'needs-you': 'needs you',
  completed: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
  unknown: 'outcome unknown',
}

/** A state: always a shape and a word, never a colour alone. `word` replaces the usual one; `isBare` leaves it to screen readers. */
export function State({ name, word, isBare }: { name: StateName; word?: string; isBare?: boolean }): ReactNode {
  return (
    <span className={`${styles['state']} ${styles[name]}`}>
      <Glyph name={name} />
      <span className={isBare ? 'visually-hidden' : undefined}>{word ?? words[name]}</span>
    </span>
  )
}

/** The shape of a state, 12 px wide. */
function Glyph({ name }: { name: StateName }): ReactNode {
  return (
    <svg className={styles['glyph']} viewBox="0 0 12 12" aria-hidden="true">
      {shapes[name]}
    </svg>
  )
}

const shapes: Record<StateName, ReactNode> = {
  queued: <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" strokeWidth="1.4" strokeDasharray="2 1.5" />,
  running: <path d="M6 1.5A4.5 4.5 0 1 1 1.5 6" fill="none" stroke="currentColor" strokeWidth="2" />,
  waiting: <path d="M4 2v8M8 2v8" stroke="currentColor" strokeWidth="2.2" />,
  'needs-you': <path d="M6 .5 11.5 6 6 11.5.5 6z" fill="currentColor" />,
  completed: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
  failed: <path d="M2 2l8 8M10 2l-8 8" stroke="currentColor" strokeWidth="2.2" />,
  cancelled: <path d="M1.5 6h9" stroke="currentColor" strokeWidth="2.2" />,
  unknown: (
    <>
      <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <path d="M6 1.5a4.5 4.5 0 0 1 0 9z" fill="currentColor" />
    </>
  ),
}

/** State of a run: one that waits for an approval needs you. */
export function stateOfRun({ state, waitingFor }: { state: string; waitingFor?: string | undefined }): StateName {
  if (state === 'waiting') return /approv|budget/i.test(waitingFor ?? '') ? 'needs-you' : 'waiting'
  return stateOf(state)
}

/** State of a task or a plan by the word that is stored. */
export function stateOf(status: string): StateName {
  switch (status) {
    case 'running':
    case 'completed':
    case 'failed':
    case 'cancelled':
    case 'queued':
      return status
    case 'timeout':
      return 'failed'
    case 'pending':
    case 'proposed':
      return 'queued'
    case 'blocked':
      return 'needs-you'
    case 'skipped':
      return 'cancelled'
    default:
      return 'unknown'
  }
}

/** State of a run, with what it waits for. */
export function RunState({ run }: { run: RunLine }): ReactNode {
  const name = stateOfRun(run)
  return <State name={name} {...(run.waitingFor && name === 'waiting' && { word: `waits: ${run.waitingFor}` })} />
}
