import type { RunSteps } from '../../api/wire.ts'

type Step = RunSteps['steps'][number]

/** A line of a run's log: a model call with its words, a tool call, a message or summary, or a pause without a step. */
export type LogEntry =
  | { kind: 'reply'; seq: number; at: number | undefined; text: string; call: RunSteps['calls'][number] | undefined }
  | { kind: 'steer' | 'compact'; seq: number; at: number | undefined; text: string }
  | CallEntry
  | { kind: 'pause'; seq: number; seconds: number }

interface CallEntry {
  kind: 'call'
  seq: number
  at: number | undefined
  name: string
  input: unknown
  output?: unknown
  /** Undefined while it runs. */
  status?: string
  endedAt?: number | undefined
}

/** A pause that is longer is told as one. */
const longestStep = 10_000

/** The journal of a run as lines; the end of a tool call completes the line of its beginning. */
export function logEntries({ steps, calls }: RunSteps): LogEntry[] {
  const entries: LogEntry[] = []
  const open = new Map<string, CallEntry>()
  let replies = 0
  let last: number | undefined
  for (const step of steps) {
    const { seq, kind } = step
    const at = step.at === null ? undefined : Date.parse(step.at)
    if (at !== undefined && last !== undefined && at - last > longestStep)
      entries.push({ kind: 'pause', seq, seconds: (at - last) / 1000 })
    last = at ?? last
    const text = step.text ?? ''
    if (kind === 'begun') {
      const entry: CallEntry = { kind: 'call', seq, at, name: step.tool ?? 'tool', input: step.input }
      open.set(step.callId ?? '', entry)
      entries.push(entry)
    } else if (kind === 'ended') endCall(open.get(step.callId ?? ''), step, at)
    else if (kind === 'reply') entries.push({ kind, seq, at, text, call: calls[replies++] })
    else entries.push({ kind, seq, at, text })
  }
  return entries
}

function endCall(entry: CallEntry | undefined, { status = 'ok', output }: Step, at: number | undefined): void {
  if (!entry) return
  entry.status = status
  entry.output = output
  entry.endedAt = at
}
