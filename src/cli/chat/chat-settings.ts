/** Settings of a chat: how it begins, and which models it can use. */
export interface ChatSettings {
  /** Whether there is no daemon, so that this process does the work. */
  isAlone: boolean
  session: string
  /** The agent that answers; default: the configured one. */
  agent: string | undefined
  /** Whether that agent is the coordinator, which delegates. */
  isCoordinated: boolean
  /** A user is typing and can be asked. */
  isAttended: boolean
  model: string | undefined
  defaultModel: string | undefined
  perRequestUsd: number
  notifyCommand: string | undefined
}
