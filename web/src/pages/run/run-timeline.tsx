import { type ReactNode, useMemo } from 'react'
import { Link } from 'wouter'
import { useStepsOfRuns } from '../../api/queries.ts'
import { serverNow } from '../../api/server-time.ts'
import type { Run, RunSteps } from '../../api/wire.ts'
import { useNow } from '../../parts/ago.tsx'
import { rowMark } from '../../parts/row-keys.ts'
import type { RequestTree } from '../../parts/run-tree.ts'
import { State, stateOfRun } from '../../parts/state.tsx'
import { formatDuration } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import { logEntries } from './log-entries.ts'
import styles from './run-timeline.module.css'
import { timeScale } from './time-scale.ts'

/** Runs whose steps are drawn; those after them only from their start to their end. */
const maxWithSteps = 40

interface Stretch {
  from: number
  to: number
  name: string
}

/** The runs of a request over time, each on a line with its tool calls. Pauses are cut short. */
export function RunTimeline({ run, rows }: { run: Run; rows: RequestTree['rows'] }): ReactNode {
  const calls = useCalls(rows)
  const now = useNow()
  const lines = useMemo(
    () =>
      rows.map(({ run: each, depth }) => ({
        run: each,
        depth,
        from: Date.parse(each.createdAt),
        to: each.finishedAt === null ? now : Date.parse(each.finishedAt),
        calls: calls.get(each.id) ?? [],
      })),
    [rows, calls, now],
  )
  const scale = useMemo(
    () =>
      timeScale(
        lines.flatMap(({ from, to, calls: own }) => [from, to, ...own.flatMap((each) => [each.from, each.to])]),
      ),
    [lines],
  )
  const percent = (at: number) => `${(scale.place(at) * 100).toFixed(3)}%`
  const width = (from: number, to: number) => `${Math.max(0, (scale.place(to) - scale.place(from)) * 100).toFixed(3)}%`
  const whole =
    lines.length === 0 ? 0 : Math.max(...lines.map(({ to }) => to)) - Math.min(...lines.map(({ from }) => from))
  return (
    <figure className={styles['timeline']}>
      <figcaption className={styles['caption']}>
        {formatDuration(whole / 1000)} in all
        {scale.breaks.length > 0 && '; hatched: pauses of more than 10 s, cut short'}
      </figcaption>
      <div className={styles['rows']}>
        <div className={styles['breaks']} aria-hidden="true">
          {scale.breaks.map(({ from, to, start, end }) => (
            <span
              key={from}
              className={styles['break']}
              style={{ insetInlineStart: `${start * 100}%`, width: `${(end - start) * 100}%` }}
            >
              <span>{formatDuration((to - from) / 1000)}</span>
            </span>
          ))}
        </div>
        {lines.map(({ run: each, depth, from, to, calls: own }) => (
          <div key={each.id} className={styles['line']} aria-current={each.id === run.id ? 'true' : undefined}>
            <Link
              href={`/runs/${each.id}?view=time`}
              className={styles['name']}
              style={{ paddingInlineStart: `${Math.min(depth, 6) * 12}px` }}
              {...rowMark}
            >
              <State name={stateOfRun(each)} isBare /> @{each.agent ?? 'agent'}
              {each.taskNumber !== undefined && <span className="quiet"> task {each.taskNumber}</span>}
            </Link>
            <div className={styles['track']}>
              <span
                className={`${styles['bar']} ${styles[stateOfRun(each)]}`}
                style={{ insetInlineStart: percent(from), width: width(from, to) }}
                title={formatDuration((to - from) / 1000)}
              />
              {own.map((call) => (
                <span
                  key={`${call.name}-${call.from}`}
                  className={styles['call']}
                  style={{ insetInlineStart: percent(call.from), width: width(call.from, call.to) }}
                  title={`${withoutBidi(call.name)}, ${formatDuration((call.to - call.from) / 1000)}`}
                />
              ))}
            </div>
            <span className={styles['length']}>{formatDuration((to - from) / 1000)}</span>
          </div>
        ))}
      </div>
    </figure>
  )
}

/** Tool calls of each run. */
function useCalls(rows: RequestTree['rows']): Map<string, Stretch[]> {
  const steps = useStepsOfRuns(rows.slice(0, maxWithSteps).map(({ run }) => run.id))
  return useMemo(() => new Map([...steps].map(([id, of]) => [id, stretchesOf(of)])), [steps])
}

function stretchesOf(steps: RunSteps): Stretch[] {
  return logEntries(steps).flatMap((entry) =>
    entry.kind === 'call' && entry.at !== undefined
      ? [{ from: entry.at, to: entry.endedAt ?? serverNow(), name: entry.name }]
      : [],
  )
}
