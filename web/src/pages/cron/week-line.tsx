import type { ReactNode } from 'react'
import type { JobWeek } from '../../api/wire.ts'
import { formatTime } from '../../text/format.ts'
import styles from './week-line.module.css'

type Hours = JobWeek['jobs'][number]['hours']
type Hour = Hours[number]

const hour = 3_600_000
const height = 18
/** A word at the line is so many hours wide on a phone. */
const hoursOfWord = 14

/** Seven days of a job as a line: what became of its times in the last three, and when it fires in the next four. */
export function WeekLine({ week, hours }: { week: JobWeek; hours: Hours }): ReactNode {
  const from = Date.parse(week.from)
  const count = (Date.parse(week.to) - from) / hour
  const now = (Date.parse(week.now) - from) / hour
  const at = (time: string | number) => (new Date(time).getTime() - from) / hour
  // A word beside another one, or beyond the end of the line, is left out.
  const hasRoom = (day: number) => Math.abs(at(day) - now) > hoursOfWord && at(day) + hoursOfWord < count
  return (
    <figure className={styles['week']}>
      <svg viewBox={`0 0 ${count} ${height}`} preserveAspectRatio="none" className={styles['line']} aria-hidden="true">
        {midnights(week).map((day) => (
          <path key={day} d={`M${at(day)} 0V${height}`} className={styles['day']} />
        ))}
        <path d={`M0 ${height - 0.5}H${count}`} className={styles['base']} />
        {hours.map((each) => (
          <Tick key={each.at} hour={each} x={at(each.at)} />
        ))}
        <path d={`M${now} 0V${height}`} className={styles['now']} />
      </svg>
      <div className={styles['days']} aria-hidden="true">
        {midnights(week)
          .filter(hasRoom)
          .map((day) => (
            <span key={day} style={{ insetInlineStart: `${(at(day) / count) * 100}%` }}>
              {new Date(day).toLocaleDateString('en-GB', { weekday: 'short' })}
            </span>
          ))}
        <span className={styles['now-word']} style={{ insetInlineStart: `${(now / count) * 100}%` }}>
          now
        </span>
      </div>
      <figcaption className={styles['words']}>{weekWords(hours)}</figcaption>
    </figure>
  )
}

/** What happened in an hour. The worst is drawn: each kind has a shape of its own, and the words have the numbers. */
function Tick({ hour: each, x }: { hour: Hour; x: number }): ReactNode {
  const kind = kindOf(each)
  const words = `${formatTime(each.at)}: ${partsOf(each).join(', ') || 'fires'}`
  return (
    <path d={shapes[kind](x)} className={styles[kind]} vectorEffect="non-scaling-stroke">
      <title>{words}</title>
    </path>
  )
}

type Kind = 'failed' | 'missed' | 'running' | 'completed' | 'skipped' | 'due'

function kindOf({ failed, missed, running, completed, skipped }: Hour): Kind {
  if (failed > 0) return 'failed'
  if (missed > 0) return 'missed'
  if (running > 0) return 'running'
  if (completed > 0) return 'completed'
  return skipped > 0 ? 'skipped' : 'due'
}

/** Done is a full bar; failed a cross on a bar; missed a hollow bar; skipped a dash; what is to come a short stroke. */
const shapes: Record<Kind, (x: number) => string> = {
  completed: (x) => `M${x + 0.15} ${height}V6h0.7V${height}z`,
  failed: (x) => `M${x + 0.1} 1L${x + 0.9} 8M${x + 0.9} 1L${x + 0.1} 8M${x + 0.5} 8V${height}`,
  missed: (x) => `M${x + 0.15} ${height}V6h0.7V${height}`,
  running: (x) => `M${x + 0.15} ${height}V12h0.7V${height}z`,
  skipped: (x) => `M${x + 0.1} 14h0.8`,
  due: (x) => `M${x + 0.5} ${height}v-5`,
}

/** Beginnings of the days within the week, by the reader's clock. */
function midnights({ from, to }: JobWeek): number[] {
  const day = new Date(from)
  day.setHours(24, 0, 0, 0)
  const found: number[] = []
  for (; day.getTime() < Date.parse(to); day.setDate(day.getDate() + 1)) found.push(day.getTime())
  return found
}

function partsOf({ completed, failed, missed, skipped, running }: Omit<Hour, 'at' | 'isDue'>): string[] {
  const parts: [number, string][] = [
    [completed, 'done'],
    [failed, 'failed'],
    [missed, 'missed'],
    [skipped, 'skipped'],
    [running, 'running'],
  ]
  return parts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []))
}

/** The same in words. */
function weekWords(hours: Hours): string {
  const sum = { completed: 0, failed: 0, missed: 0, skipped: 0, running: 0 }
  for (const each of hours) for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += each[key]
  const before = partsOf(sum)
  const due = hours.filter(({ isDue }) => isDue).length
  const next = due > 0 ? `due in ${due} of 96 hours` : 'does not fire'
  return `Last three days: ${before.length === 0 ? 'did not fire' : before.join(', ')} · next four days: ${next}`
}
