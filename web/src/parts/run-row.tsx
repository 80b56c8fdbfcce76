import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { RunLine } from '../api/wire.ts'
import { formatCost, formatDuration, formatTokens, shortId } from '../text/format.ts'
import { PlainWords } from '../text/plain-words.tsx'
import { withoutBidi } from '../text/safe-text.ts'
import { Reference } from './reference.tsx'
import { rowMark } from './row-keys.ts'
import styles from './run-row.module.css'
import { isOver, wordsOf } from './run-tree.ts'
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
  const words = withoutBidi(wordsOf(run))
  const isLive = !isOver(run)
  const note = isLive ? run.doing : run.state === 'completed' ? '' : run.doing
  return (
    <li className={styles['row']} aria-current={isShown ? 'true' : undefined}>
      <span className={styles['agent']} style={{ paddingInlineStart: `${Math.min(depth, 8) * 18}px` }}>
        <State name={stateOfRun(run)} isBare />
        <Link href={`/runs/${run.id}`} className={styles['link']} {...rowMark}>
          @{run.agent ?? 'agent'}
        </Link>
      </span>
      <span className={styles['words']}>
        <span className={run.via === 'user' ? styles['serif'] : undefined}>{words}</span>
        {note !== '' && <span className={styles[isLive ? 'doing' : 'failed']}>{withoutBidi(note)}</span>}
      </span>
      <span className={styles['waits']}>
        {run.waitingFor !== undefined && <PlainWords text={`waits: ${run.waitingFor}`} />}
        {run.taskId !== undefined && <Reference to={`task:${run.taskId}`} />}
      </span>
      <span className={styles['figures']}>
        <span title={isLive ? `silent for ${formatDuration(run.silentForSeconds)}` : 'how long it took'}>
          {formatDuration(run.ageSeconds)}
        </span>
        <span>{formatTokens(run.tokens)} tok</span>
        <span>{formatCost(run)}</span>
        <span className={styles['id']}>{shortId(run.id)}</span>
      </span>
    </li>
  )
}
