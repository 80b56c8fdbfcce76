import type { Millis } from '../clock.ts'
import type { Label } from '../label.ts'
import type { DeliveryTarget } from './job.ts'

export const outboxStates = ['queued', 'sending', 'sent', 'dead'] as const
/** `dead`: the last try failed; it is sent again only when a person says so. */
export type OutboxState = (typeof outboxStates)[number]

/** A message that leaves the runtime, written with what it reports and sent afterwards. */
export interface OutboxMessage extends DeliveryTarget {
  id: number
  title: string
  content: string
  label: Label
  /** Text form of the principal on whose behalf it is sent. */
  principal: string
  folder: string
  jobId: number | null
  runId: string | null
  state: OutboxState
  attempts: number
  /** When it is tried next, or given up as lost by its sender. */
  nextAt: Millis | null
  lastError: string | null
  createdAt: Millis
  sentAt: Millis | null
}
