import type { Millis } from '../../domain/clock.ts'
import { shortId } from '../../domain/id.ts'
import { formatSeconds } from '../pages/answer-page.ts'
import { paint, printable, type Screen, truncateToWidth, width } from '../terminal/screen.ts'

const maxColumns = 100

/** One activity of a run: which run, what, how long it took and how it ended. */
interface RunActivity {
  runId: string
  /** How far below the session's own run. */
  depth: number
  agent?: string | undefined
  /** A tool, or another activity. */
  what: string
  about?: string | undefined
  took?: Millis | undefined
  status?: string | undefined
}

export function callLine(screen: Screen, { runId, depth, agent, what, about = '', took, status }: RunActivity): string {
  const who = [`run:${shortId(runId)}`, ...(agent === undefined ? [] : [`@${printable(agent)}`])].join('  ')
  const indent = '  '.repeat(depth)
  const time = took === undefined ? '' : formatSeconds(took).padStart(6)
  const word = status === undefined ? undefined : callStatus(status)
  const end = [time, ...(word === undefined ? [] : [word])].join('  ')
  const room = Math.min(screen.columns, maxColumns) - width(indent + who) - 2 - width(end) - 2
  const doing = truncateToWidth(
    [printable(what), printable(about)].filter((part) => part !== '').join(' '),
    Math.max(10, room),
  )
  const gap = ' '.repeat(Math.max(2, room - width(doing) + 2))
  const ending = time + (status === undefined || word === undefined ? '' : `  ${paint(screen, colourOf(status), word)}`)
  return `${indent}${paint(screen, 'dim', who)}  ${doing}${end === '' ? '' : gap + ending}`.trimEnd()
}

/** The status of a call as people read it; JSON keeps the code. */
export function callStatus(status: string): string {
  if (status === 'forbidden') return 'not allowed'
  return status === 'unknown' ? 'unknown outcome' : status
}

function colourOf(status: string): 'green' | 'yellow' | 'red' {
  if (status === 'ok') return 'green'
  return status === 'unknown' || status === 'stopped' ? 'yellow' : 'red'
}
