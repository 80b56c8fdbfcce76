import type { ModelMessage } from '../domain/model.ts'
import type { Step } from '../domain/run.ts'
import type { SaidTurn } from '../store/threads.ts'
import { Journal } from './journal.ts'
import { said, summaryOf } from './model-messages.ts'

/** Characters of a tool's answer that stay in a turn which a compaction has kept. */
const mostAfterCompaction = 2000

/** A turn as later turns are shown it: what was said, and the tool calls in between with their answers. */
export interface PathTurn extends SaidTurn {
  messages: readonly ModelMessage[]
}

/**
 * The same bytes in every later turn, and the same as its own run was shown, so that a provider can keep them. Only a
 * compaction shortens: `isBeforeCompaction` tells that one came after this turn.
 */
export function pathTurn(turn: SaidTurn, steps: Step[] = [], isBeforeCompaction = false): PathTurn {
  return { ...turn, messages: messagesOf(turn, steps, isBeforeCompaction) }
}

function messagesOf(turn: SaidTurn, steps: Step[], isBeforeCompaction: boolean): ModelMessage[] {
  const { content } = turn.responseMessage
  // A summary is told as something the model is given: it answers nothing that could stand before it.
  if (turn.type === 'compaction') return [{ role: 'user', content: summaryOf(content) }]
  const journal = new Journal(turn.runId, steps)
  const { heard } = journal
  return [
    // What people said while the run was under way stands among its steps.
    ...turn.queryMessages.filter(({ id }) => !heard.has(id)).map(said),
    ...withoutRepeat(journal.messagesWith(isBeforeCompaction ? mostAfterCompaction : undefined), content),
    { role: 'assistant', content, calls: [] },
  ]
}

/** A turn that ended by waiting answers with what its last reply said: that is told once, as the answer. */
function withoutRepeat(messages: ModelMessage[], answer: string): ModelMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const reply = messages[last]
  if (reply?.role !== 'assistant' || reply.content.trim() !== answer.trim()) return messages
  return messages.with(last, { role: 'assistant', content: '', calls: reply.calls })
}
