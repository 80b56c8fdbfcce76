import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { Run, Turn } from '../../api/wire.ts'
import { useRunText } from '../../live/use-live.ts'
import { CallRow } from '../../parts/call-row.tsx'
import { EmptyState } from '../../parts/notice.tsx'
import { formatDuration } from '../../text/format.ts'
import { RichText } from '../../text/rich-text.tsx'
import { type LogEntry, logEntries } from './log-entries.ts'
import styles from './run.module.css'

/** What a run did, step by step, and its answer. */
export function RunLog({ run }: { run: Run }): ReactNode {
  const turn = useTurn(run.turnId)
  const text = useRunText(run.id)
  const entries = useMemo(() => logEntries(run.steps, turn?.toolCalls ?? []), [run.steps, turn])
  if (entries.length === 0 && !turn && !text)
    return (
      <EmptyState title={run.finishedAt === null ? 'No step yet' : 'It ended before its first step'}>
        <p>Here stands each model call and each tool call, with its input and its output.</p>
      </EmptyState>
    )
  return (
    <div>
      <ol className={styles['log']}>
        {entries.map((entry) => (
          <li key={`${entry.kind}-${entry.seq}`}>
            <Entry entry={entry} />
          </li>
        ))}
      </ol>
      {text && (
        <div className={styles['answer']} aria-live="off">
          <RichText text={text.text} isGrowing />
        </div>
      )}
      {turn && turn.response.content !== '' && (
        <div className={styles['answer']}>
          <RichText text={turn.response.content} />
        </div>
      )}
    </div>
  )
}

function useTurn(id: string | null): Turn | undefined {
  const folder = useFolder()
  const { data } = useQuery({
    queryKey: ['turn', id],
    enabled: id !== null,
    // A turn never changes.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => get<Turn>('/v1/show', { folder, reference: `turn:${id}` }),
  })
  return data
}

function Entry({ entry }: { entry: LogEntry }): ReactNode {
  if (entry.kind === 'pause') return <p className={styles['pause']}>{formatDuration(entry.seconds)} without a step</p>
  const clock = entry.at === undefined ? '' : new Date(entry.at).toLocaleTimeString('en-GB')
  if (entry.kind !== 'call')
    return (
      <div className={styles['step']}>
        <span className={styles['clock']}>{clock}</span>
        <span>{entry.kind === 'reply' ? `model call ${entry.number}` : others[entry.kind]}</span>
      </div>
    )
  const { name, status, call, at, endedAt } = entry
  const time = at === undefined || endedAt === undefined ? undefined : formatDuration((endedAt - at) / 1000)
  return (
    <div className={styles['step']}>
      <span className={styles['clock']}>{clock}</span>
      <CallRow name={name} status={status} input={call?.input} output={call?.output} time={time} />
    </div>
  )
}

const others = { steer: 'a message reached it', compact: 'earlier steps were summarised' } as const
