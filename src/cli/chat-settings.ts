/** How a talk begins, and what it may choose from. */
export interface ChatSettings {
  session: string
  model: string | undefined
  /** Throws when there is no such model. */
  knowModel(name: string): void
  models: string[]
  usualModel: string | undefined
  perRequestUsd: number
  notifyCommand: string | undefined
}
