import type { ThinkingConfig } from './message.ts'

/** Who an agent is. */
export interface Identity {
  name: string
  soul: string
  emoji?: string
}

/** What an agent may do; a denial wins over an allowance, no `allow` means everything, and `ask` adds to what asks first. */
export interface Permissions {
  tools: { allow?: string[]; deny?: string[]; ask?: string[] }
  sandbox?: Record<string, unknown>
  credentials?: string[]
}

/** How an agent thinks; may differ from turn to turn. */
export interface ModelConfig {
  model: string
  thinking?: ThinkingConfig
  maxTokens?: number
  temperature?: number
}

/** Identity and permissions of a thread, with defaults for how it thinks. */
export interface Persona {
  id: string
  identity: Identity
  permissions: Permissions
  defaultModelConfig?: ModelConfig
}

/** A persona's id, as people write it. */
export const personaPattern = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** The session that stands for a persona when only the persona is named. */
export function mainSessionOf(personaId: string): string {
  return `${personaId}:main`
}

/** The id of the persona whose main session has this label, if the label is of that form. */
export function personaOfMain(label: string): string | undefined {
  const id = label.endsWith(':main') ? label.slice(0, -':main'.length) : ''
  return personaPattern.test(id) ? id : undefined
}
