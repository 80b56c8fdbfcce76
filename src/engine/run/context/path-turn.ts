import type { ModelMessage } from '../../../domain/model.ts'
import type { Step } from '../../../domain/run.ts'
import type { TurnMessages } from '../../../store/rows/threads.ts'
import { summaryMessage, userMessage } from '../../model/model-messages.ts'
import { Journal } from './journal.ts'

/** Max characters of a tool's answer in a turn that comes before a compaction and was kept. */
const maxAfterCompaction = 2000

/** A turn as later runs see it: messages, and the tool calls in between with their answers. */
export interface PathTurn extends TurnMessages {
  messages: readonly ModelMessage[]
}

/**
 * Builds a turn's messages. They are byte-identical in every later request and to what its own run sent, so that provider
 * caches hit. Tool answers are shortened only if a compaction came after the turn (`isBeforeCompaction`).
 */
export function pathTurn(turn: TurnMessages, steps: Step[] = [], isBeforeCompaction = false): PathTurn {
  return { ...turn, messages: messagesOf(turn, steps, isBeforeCompaction) }
}

function messagesOf(turn: TurnMessages, steps: Step[], isBeforeCompaction: boolean): ModelMessage[] {
  const { content } = turn.responseMessage
  // A summary is a user message: as an assistant message it would answer nothing.
  if (turn.type === 'compaction') return [{ role: 'user', content: summaryMessage(content) }]
  const journal = new Journal(turn.runId, steps)
  const { steeredItemIds } = journal
  const ownMessages = journal.messagesWith(isBeforeCompaction ? maxAfterCompaction : undefined)
  return [
    // Steering messages stand among the steps of the run.
    ...turn.queryMessages.filter(({ id }) => !steeredItemIds.has(id)).map(userMessage),
    ...(journal.turnEnd ? withoutRepeat(ownMessages, content) : ownMessages),
    { role: 'assistant', content, calls: [] },
  ]
}

/** The answer of a turn that ended by waiting repeats the text of its last reply; keeps it as the answer only. */
function withoutRepeat(messages: ModelMessage[], answer: string): ModelMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const reply = messages[last]
  if (reply?.role !== 'assistant' || reply.content.trim() !== answer.trim()) return messages
  return messages.with(last, { role: 'assistant', content: '', calls: reply.calls })
}
