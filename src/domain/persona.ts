import type { ThinkingConfig } from './message.ts'

/** Name and character of an agent. */
export interface Identity {
  name: string
  soul: string
  emoji?: string
}

/** Permissions of an agent: a denial wins, no `allow` means everything, and `ask` adds tools that need approval. */
export interface Permissions {
  tools: { allow?: string[]; deny?: string[]; ask?: string[] }
  sandbox?: Record<string, unknown>
  credentials?: string[]
}

/** Model settings of an agent; may differ from turn to turn. */
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

/** Form of a persona's id. */
export const personaPattern = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** Label of the session used when only the persona is named. */
export function mainSessionOf(personaId: string): string {
  return `${personaId}:main`
}

/** Id of the persona whose main session has this label; undefined for other labels. */
export function personaOfMain(label: string): string | undefined {
  const id = label.endsWith(':main') ? label.slice(0, -':main'.length) : ''
  return personaPattern.test(id) ? id : undefined
}
