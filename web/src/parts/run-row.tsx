import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { RunLine } from '../api/wire.ts'
import { formatCost, formatDuration, formatTokens, shortId } from '../text/format.ts'
import { withoutBidi } from '../text/safe-text.ts'
import { Reference, TaskOfRun } from './reference.tsx'
import { rowMark } from './row-keys.ts'
import styles from './run-row.module.css'
import { approvalIn, isAskedByPerson, isOver, secondsOf, wordsOf } from './run-tree.ts'
import { State, stateOfRun } from './state.tsx'

interface RunRowProps {
  run: RunLine
  /** Runs above it in the tree. */
  depth: number
  /** The run that the page is about. */
  isShown?: boolean
}

/** A run on one line: state, agent, what it does, what it waits for, and what it cost. */
export function RunRow({ run, depth, isShown = false }: RunRowProps): ReactNode {
  const isLive = !isOver(run)
  const needed = approvalIn(run)
  const note = isLive || run.state !== 'completed' ? run.doing : ''
  return (
    <li className={styles['row']} aria-current={isShown ? 'true' : undefined}>
      <span className={styles['agent']} style={{ paddingInlineStart: `${Math.min(depth, 8) * 18}px` }}>
        <State name={stateOfRun(run)} isBare />
        <Link href={`/runs/${run.id}`} className={styles['link']} {...rowMark}>
          @{run.agent ?? 'agent'}
        </Link>
      </span>
      <span className={styles['words']}>
        <span className={styles[isAskedByPerson(run) ? 'serif' : depth === 0 ? 'more' : 'plain']}>
          {withoutBidi(wordsOf(run))}
        </span>
        {note !== '' && needed === undefined && (
          <span className={styles[isLive || run.state === 'cancelled' ? 'doing' : 'failed']}>{withoutBidi(note)}</span>
        )}
      </span>
      <span className={styles['waits']}>
        {needed !== undefined && (
          <span>
            waits for you, <Reference to={`approval:${needed}`} />
          </span>
        )}
        {needed === undefined && run.waitingFor !== undefined && <span>waits: {withoutBidi(run.waitingFor)}</span>}
        <TaskOfRun run={run} />
      </span>
      <span className={styles['figures']}>
        <span title={isLive ? `silent for ${formatDuration(run.silentForSeconds)}` : 'how long it took'}>
          {formatDuration(secondsOf(run))}
        </span>
        <span>{formatTokens(run.tokens)} tok</span>
        <span>{formatCost(run)}</span>
        <span className={styles['id']}>{shortId(run.id)}</span>
      </span>
    </li>
  )
}
