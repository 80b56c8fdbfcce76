import { z } from 'zod'
import type { Millis } from '../clock.ts'
import { UsageError } from '../errors.ts'
import { lazy } from '../lazy.ts'
import { modelSettings, permissions } from '../persona.ts'
import { isStorable } from '../text/storable.ts'
import { type PolicyProblem, problemsOf } from './problem.ts'

const text = (max: number) => z.string().max(max).refine(isStorable, 'must be well-formed text')
const names = () => z.array(text(200).min(1)).max(1000)

/** What a run with this profile may use, and how it works. A limit that is left out limits nothing. */
const profileValue = lazy(() =>
  z.strictObject({
    /** The model that answers if nothing else is asked for. */
    model: z.strictObject({
      /** Only models of this provider. */
      provider: text(100).min(1).exactOptional(),
      /** Name of a model in heddle.yaml. */
      model: text(200).min(1).exactOptional(),
    }),
    /** Names of the only models besides `model.model`. With a model and without this list, only that model. */
    allowedModels: names().exactOptional(),
    /** Agent files whose instructions may be forwarded, as `skill:NAME` or NAME. */
    allowedSkills: names().exactOptional(),
    /** MCP servers, as `mcp:NAME` or NAME. */
    allowedMcpServers: names().exactOptional(),
    /** Max tokens of a prompt, if the model's own window is larger. */
    contextWindow: z.int().min(1000).max(100_000_000).exactOptional(),
    systemPrompt: text(100_000).exactOptional(),
    limits: z
      .strictObject({
        /** Max running time of a run. */
        timeoutSeconds: z.int().min(1).max(1_000_000).exactOptional(),
        /** Max tokens of one reply. */
        maxTokens: modelSettings().shape.maxTokens,
        permissions: permissions().exactOptional(),
      })
      .exactOptional(),
  }),
)
export type ProfileValue = z.infer<ReturnType<typeof profileValue>>

/** A stored profile. */
export interface Profile {
  id: string
  version: number
  value: ProfileValue
  updatedAt: Millis
  /** Text form of the principal who wrote it; `heddle` for those that are shipped. */
  updatedBy: string
}

/** Reads the value of a profile; all that is wrong with it at once. */
export function readProfile(value: unknown): { value: ProfileValue } | { problems: PolicyProblem[] } {
  const read = profileValue().safeParse(value)
  return read.success ? { value: read.data } : { problems: problemsOf(read.error) }
}

/** The only models that a profile allows; undefined if it allows all. */
export function modelsOfProfile({ model: { model }, allowedModels }: ProfileValue): string[] | undefined {
  if (model === undefined) return allowedModels
  return [...new Set([model, ...(allowedModels ?? [])])]
}

const profileIdPattern = /^[a-z0-9][a-z0-9_.:-]{0,99}$/

/** Refuses what cannot be the id of a profile. */
export function checkProfileId(id: string): string {
  if (profileIdPattern.test(id)) return id
  throw new UsageError(
    `"${id}" cannot be a profile's id`,
    'use 1 to 100 small letters, digits and _ . : -, such as profile:writer:v1',
    'bad_profile',
  )
}
