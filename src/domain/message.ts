import type { Millis } from './clock.ts'
import { joinLabels, type Label } from './label.ts'

export const roles = ['user', 'assistant', 'system', 'tool'] as const
/** What kind of message this is to a model. */
export type Role = (typeof roles)[number]

export const sources = ['human', 'trigger', 'agent', 'webhook', 'cron', 'event'] as const
/** Who or what brought an input about; a trigger's input has role `user` and source `trigger`. */
export type Source = (typeof sources)[number]

/** Something besides text that belongs to a message. */
export type Part =
  | { type: 'image'; path?: string; mediaType: string; data: string }
  | { type: 'file'; path: string; mediaType: string; data: string }

export const thinkingLevels = ['off', 'low', 'medium', 'high'] as const

export interface ThinkingConfig {
  level: (typeof thinkingLevels)[number]
}

/** The atom of communication. `content` is its text; `parts` follow it in order. */
export interface Message {
  id: string
  parentId?: string
  role: Role
  source?: Source
  content: string
  parts?: Part[]
  timestamp: Millis
  label?: Label
  model?: string
  thinkingConfig?: ThinkingConfig
  toolCallId?: string
}

/** A message without a label of its own is the owner's or the runtime's, and trusted. */
export function labelOf(messages: Iterable<Message>): Label {
  return joinLabels([...messages].flatMap((message) => message.label ?? []))
}
