import type { Millis } from '../domain/clock.ts'
import { tail } from '../domain/id.ts'
import { seconds } from './answer-page.ts'
import { cut, paint, printable, type Screen, width } from './screen.ts'

const widest = 100

/** What someone does or did, on one line: who, what, how long it took and how it went. */
export interface Doing {
  runId: string
  /** How far below the session's own run. */
  depth: number
  agent?: string | undefined
  /** A tool, or what else is done. */
  what: string
  about?: string | undefined
  took?: Millis | undefined
  status?: string | undefined
}

export function callLine(screen: Screen, { runId, depth, agent, what, about = '', took, status }: Doing): string {
  const who = [`run:${tail(runId)}`, ...(agent === undefined ? [] : [`@${printable(agent)}`])].join('  ')
  const indent = '  '.repeat(depth)
  const time = took === undefined ? '' : seconds(took).padStart(6)
  const end = [time, ...(status === undefined ? [] : [status])].join('  ')
  const room = Math.min(screen.columns, widest) - width(indent + who) - 2 - width(end) - 2
  const doing = cut([printable(what), printable(about)].filter((part) => part !== '').join(' '), Math.max(10, room))
  const gap = ' '.repeat(Math.max(2, room - width(doing) + 2))
  const ending = time + (status === undefined ? '' : `  ${paint(screen, colourOf(status), status)}`)
  return `${indent}${paint(screen, 'dim', who)}  ${doing}${end === '' ? '' : gap + ending}`.trimEnd()
}

function colourOf(status: string): 'green' | 'yellow' | 'red' {
  if (status === 'ok') return 'green'
  return status === 'unknown' || status === 'stopped' ? 'yellow' : 'red'
}
