import { z } from 'zod'
import { lazy } from './lazy.ts'
import { thinkingLevels } from './message.ts'

/** Name and character of an agent. */
export interface Identity {
  name: string
  soul: string
  emoji?: string
}

const names = () => z.array(z.string().max(200)).max(1000).exactOptional()

/** Limits on commands. Each can only narrow what `tools.exec` allows. */
export const sandboxPermissions = lazy(() =>
  z.strictObject({
    /** Off, whatever `tools.exec.network` says; nothing here can turn it on. */
    network: z.literal(false, 'can only be false: tools.exec.network in heddle.yaml turns it on').exactOptional(),
    timeoutSeconds: z.int().min(1).exactOptional(),
    memoryMB: z.int().min(64).exactOptional(),
    processes: z.int().min(8).exactOptional(),
  }),
)
export type SandboxPermissions = z.infer<ReturnType<typeof sandboxPermissions>>

/** Permissions of an agent: a denial wins, no `allow` means everything, and `ask` adds tools that need approval. */
export const permissions = lazy(() =>
  z.strictObject({
    tools: z.strictObject({
      allow: names(),
      deny: names(),
      ask: names(),
    }),
    sandbox: sandboxPermissions().exactOptional(),
    /** The only ones of `tools.exec.credentials` that commands see; left out, all of them. */
    credentials: names(),
  }),
)
export type Permissions = z.infer<ReturnType<typeof permissions>>

/** How a model replies; may differ from turn to turn. */
export const modelSettings = lazy(() =>
  z.strictObject({
    thinking: z.strictObject({ level: z.enum(thinkingLevels) }).exactOptional(),
    /** Max tokens of one reply. */
    maxTokens: z.int().positive().max(1_000_000).exactOptional(),
    temperature: z.number().min(0).max(2).exactOptional(),
  }),
)
export type ModelSettings = z.infer<ReturnType<typeof modelSettings>>

/** A model and how it replies. */
export interface ModelConfig extends ModelSettings {
  model?: string
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

/** Id of the persona whose main session has this label, the owner's or a user's own; undefined for other labels. */
export function personaOfMain(label: string): string | undefined {
  const [, id = ''] = /^(?:user:[^:]+:)?(.*):main$/s.exec(label) ?? []
  return personaPattern.test(id) ? id : undefined
}
