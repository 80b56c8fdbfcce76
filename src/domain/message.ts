import type { Millis } from './clock.ts'
import { joinLabels, type Label } from './label.ts'

export const roles = ['user', 'assistant', 'system', 'tool'] as const
/** The role of a message in a model request. */
export type Role = (typeof roles)[number]

// Not yet produced by the runtime: 'trigger', 'webhook'; imported and hand-made turns may have them.
export const sources = ['human', 'trigger', 'agent', 'webhook', 'cron', 'event'] as const
/** Origin of an input; a trigger's input has role `user` and source `trigger`. */
export type Source = (typeof sources)[number]

/** An image or file attached to a message. */
export type Part =
  | { type: 'image'; path?: string; mediaType: string; data: string }
  | { type: 'file'; path: string; mediaType: string; data: string }

export const thinkingLevels = ['off', 'low', 'medium', 'high'] as const

export interface ThinkingConfig {
  level: (typeof thinkingLevels)[number]
}

/** One message. `content` is its text; `parts` follow it in order. */
export interface Message {
  id: string
  /** The message before it. Turns of earlier versions do not say it, nor the model. */
  parentId?: string
  role: Role
  source?: Source
  content: string
  parts?: Part[]
  timestamp: Millis
  label?: Label
  /** Id of the message in the system that it came from. */
  outerRef?: string
  model?: string
  thinkingConfig?: ThinkingConfig
  /** Of an agent's result: the call that started the agent. */
  toolCallId?: string
}

/**
 * The messages of a turn, each with the one before it as its parent; the first follows the parent turn's answer, whose id is
 * the turn's. The answer carries the model that wrote it and how that was asked to think.
 */
export function linkMessages(turn: {
  parentTurnId: string | null
  queryMessages: Message[]
  responseMessage: Message
  model: string | null
  thinkingConfig: ThinkingConfig | null
}): { queryMessages: Message[]; responseMessage: Message } {
  let before = turn.parentTurnId
  const link = (message: Message): Message => {
    const { id, ...rest } = message
    const linked = { id, ...(before !== null && { parentId: before }), ...rest }
    before = id
    return linked
  }
  const queryMessages = turn.queryMessages.map(link)
  const { model, thinkingConfig } = turn
  const responseMessage = {
    ...link(turn.responseMessage),
    ...(model !== null && { model }),
    ...(thinkingConfig !== null && { thinkingConfig }),
  }
  return { queryMessages, responseMessage }
}

/** Joins the labels of messages; one without a label is from the owner or the runtime, and trusted. */
export function labelOf(messages: Iterable<Message>): Label {
  return joinLabels([...messages].flatMap((message) => message.label ?? []))
}
