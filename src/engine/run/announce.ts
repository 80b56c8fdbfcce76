import { shortId } from '../../domain/id.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import { type Ending, type Outcome, outcomeWord, type Run } from '../../domain/run.ts'
import type { Subagent } from '../../domain/subagent.ts'
import { delimit, oneLine } from './delimit.ts'

/** Max characters of a sub-agent's output in its requester's turn; the store has all of it. */
const maxAnnounced = 20_000

/** A stored result, as far as its announcement needs it. */
export interface StoredResult {
  id: number
  status: Outcome
  summary: string
  output: string
}

/** A child's end, for the message to its requester. */
interface ChildOutcome {
  run: Pick<Run, 'subagent' | 'activeMs'>
  ending: Ending
  result: StoredResult
  /** Name of the work for the requester of an agent that is no sub-agent. */
  who: string
  /** Statements of the runtime about the files that the child wrote. */
  remarks: readonly string[]
  /** The child's first run, by which its requester knows it. */
  firstRunId: string
  /** Text that did not exist when the child answered. */
  boundary: string
}

/**
 * The message that tells a requester of a child's end; the only place that chooses its form. A sub-agent's is a system event
 * with its output, all others are one line.
 */
export function announce(outcome: ChildOutcome): Pick<InboxItem, 'kind' | 'source' | 'content'> {
  const { run, result, who, remarks } = outcome
  if (run.subagent) return { kind: 'system', source: 'event', content: announcement(run.subagent, outcome) }
  return { kind: 'result', source: 'agent', content: [announcementLine(result, who), ...remarks].join(' ') }
}

/** The line that announces a result. A failure's summary begins with its status, which the line contains already. */
function announcementLine({ id, status, summary }: StoredResult, who: string): string {
  const text = status === 'completed' ? summary : summary.replace(/^[\w ]+: /, '')
  return `[agent_result:${id}] ${who} ${status}: ${text}`
}

function announcement({ title }: Subagent, outcome: ChildOutcome): string {
  const { run, ending, result, remarks, firstRunId, boundary } = outcome
  const first = `[Subagent: ${title}] ${outcomeSentence(ending, run)}`
  const pointer = `[agent_result:${result.id}] run:${shortId(firstRunId)}`
  const notes = remarks.map((remark) => `Note: ${oneLine(remark)}`)
  if (ending.state !== 'completed' && (ending.said ?? '') === '') return [first, '', pointer, ...notes].join('\n')
  // Cut before it is normalised, so that read_result continues exactly here.
  const shown = result.output.slice(0, maxAnnounced).toWellFormed()
  const left = result.output.length - shown.length
  const cut = left > 0 ? [`… [cut: ${left} more characters; read_result id=${result.id} offset=${shown.length}]`] : []
  return [
    first,
    '',
    delimit(shown, { boundary, author: 'the sub-agent', before: `${pointer}. ` }),
    ...cut,
    ...notes,
  ].join('\n')
}

/** How the runtime saw it end, whatever the sub-agent says itself. */
function outcomeSentence({ state, error }: Ending, { activeMs }: Pick<Run, 'activeMs'>): string {
  if (state === 'completed') return 'Complete.'
  if (state === 'timeout') return `Timed out after ${Math.round(activeMs / 1000)}s.`
  return `${outcomeWord[state]}: ${oneLine(error?.message ?? 'the reason is unknown')}`
}
