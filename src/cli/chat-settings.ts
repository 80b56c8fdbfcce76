/** How a talk begins, and what it may choose from. */
export interface ChatSettings {
  session: string
  /** Who is talked to; without one, the configured default. */
  agent: string | undefined
  /** Whoever that is can have others do the work. */
  isCoordinated: boolean
  /** Somebody types, and can be asked. */
  isAttended: boolean
  model: string | undefined
  /** Throws when there is no such model. */
  knowModel(name: string): void
  models: string[]
  usualModel: string | undefined
  perRequestUsd: number
  notifyCommand: string | undefined
}
