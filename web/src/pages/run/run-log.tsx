import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { useFolder } from '../../api/folder.ts'
import { turnQuery, useRunSteps } from '../../api/queries.ts'
import type { Run, Turn } from '../../api/wire.ts'
import { useRunText } from '../../live/use-live.ts'
import { CallRow } from '../../parts/call-row.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { formatCost, formatDuration, formatTokens } from '../../text/format.ts'
import { PlainWords } from '../../text/plain-words.tsx'
import { RichText } from '../../text/rich-text.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { type LogEntry, logEntries } from './log-entries.ts'
import styles from './run.module.css'

/** What a run did, step by step, and its answer. */
export function RunLog({ run }: { run: Run }): ReactNode {
  const steps = useRunSteps(run.id)
  const turn = useTurn(run.turnId)
  const text = useRunText(run.id)
  const entries = useMemo(() => (steps.data ? logEntries(steps.data) : []), [steps.data])
  if (steps.error) return <Failure error={steps.error} onRetry={() => steps.refetch()} />
  if (!steps.data) return <Loading />
  if (entries.length === 0 && !turn && !text)
    return (
      <EmptyState title={run.finishedAt === null ? 'No step yet' : 'It ended before its first step'}>
        <p>Each model call and tool call is listed here, with its input and its output.</p>
      </EmptyState>
    )
  const answer = turn?.response.content ?? text?.text
  const lastReply = entries.findLast((entry) => entry.kind === 'reply')
  return (
    <div>
      <ol className={styles['log']}>
        {entries.map((entry) => (
          <li key={`${entry.kind}-${entry.seq}`}>
            {/* The words of the last call are the answer below. */}
            <Entry entry={entry} hasAnswer={turn !== undefined && entry === lastReply} />
          </li>
        ))}
      </ol>
      {answer !== undefined && answer !== '' && (
        <div className={styles['answer']} aria-live="off">
          <RichText text={answer} isGrowing={!turn} />
        </div>
      )}
    </div>
  )
}

function useTurn(id: string | null): Turn | undefined {
  const folder = useFolder()
  return useQuery({ ...turnQuery(folder, id ?? ''), enabled: id !== null }).data
}

function Entry({ entry, hasAnswer }: { entry: LogEntry; hasAnswer: boolean }): ReactNode {
  if (entry.kind === 'pause') return <p className={styles['pause']}>{formatDuration(entry.seconds)} without a step</p>
  return (
    <div className={styles['step']}>
      <span className={styles['clock']}>
        {entry.at === undefined ? '' : new Date(entry.at).toLocaleTimeString('en-GB')}
      </span>
      {entry.kind === 'call' ? (
        <CallRow {...entry} time={lengthOf(entry)} />
      ) : (
        <div>
          <p className="row">
            <span>{words[entry.kind]}</span>
            {entry.kind === 'reply' && entry.call && (
              <span className="mono quiet">
                {withoutBidi(entry.call.model)} {formatTokens(entry.call.inputTokens)} in,{' '}
                {formatTokens(entry.call.outputTokens)} out, {formatCost(entry.call)}
              </span>
            )}
          </p>
          {entry.text !== '' && !hasAnswer && <PlainWords text={entry.text} />}
        </div>
      )}
    </div>
  )
}

const words = {
  reply: 'model answered',
  steer: 'a message reached it',
  compact: 'earlier steps were summarised',
} as const

function lengthOf({ at, endedAt }: { at: number | undefined; endedAt?: number | undefined }): string | undefined {
  return at === undefined || endedAt === undefined ? undefined : formatDuration((endedAt - at) / 1000)
}
