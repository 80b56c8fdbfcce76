import type { Run, Turn } from '../../api/wire.ts'

/** A line of a run's log: a model call, a tool call with its length, or a pause in which nothing happened. */
export type LogEntry =
  | { kind: 'reply' | 'steer' | 'compact'; seq: number; at: number | undefined; number: number }
  | {
      kind: 'call'
      seq: number
      at: number | undefined
      name: string
      endedAt: number | undefined
      status?: string
      call?: Call
    }
  | { kind: 'pause'; seq: number; seconds: number }

type Call = Turn['toolCalls'][number]

/** A pause that is longer is told as one. */
export const longestStep = 10_000

/** The journal of a run as lines. Input and output of its calls are those of its turn, once it has one. */
export function logEntries(steps: Run['steps'], calls: readonly Call[]): LogEntry[] {
  const entries: LogEntry[] = []
  const unused = [...calls]
  let replies = 0
  let last: number | undefined
  for (const { seq, kind, name = 'tool', status, at: moment } of steps) {
    const at = moment === null ? undefined : Date.parse(moment)
    if (at !== undefined && last !== undefined && at - last > longestStep)
      entries.push({ kind: 'pause', seq, seconds: (at - last) / 1000 })
    last = at ?? last
    if (kind === 'begun') {
      const found = unused.findIndex((call) => call.name === name)
      const [call] = found === -1 ? [] : unused.splice(found, 1)
      entries.push({ kind: 'call', seq, at, name, endedAt: undefined, ...(call && { call }) })
    } else if (kind === 'ended') {
      const open = entries.find((entry) => entry.kind === 'call' && entry.status === undefined && entry.name === name)
      if (open?.kind === 'call') Object.assign(open, { endedAt: at, status: status ?? 'ok' })
    } else entries.push({ kind, seq, at, number: kind === 'reply' ? ++replies : 0 })
  }
  return entries
}
