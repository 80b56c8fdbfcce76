import type { Model, ModelRequest, ToolSpec } from '../../domain/model.ts'
import type { ModelSettings, Persona } from '../../domain/persona.ts'
import type { Run } from '../../domain/run.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import type { Engine } from '../runtime.ts'
import { isBackground } from './role.ts'

// Max share of the context window that is kept free for the reply.
const maxOutputShare = 0.25
const narrativeTokens = 2000

/** Content of a model request, before the call is numbered. */
export type ModelInput = Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'stablePrefix' | 'note'>

/** Tools as a model sees them; the same objects for each run, so that each is weighed once. */
export function toolSpecs(known: Engine['tools'], names: readonly string[]): ToolSpec[] {
  return names.flatMap((name) => {
    const tool = known.get(name)
    return tool ? [specOf(tool)] : []
  })
}

const specs = new WeakMap<Tool, ToolSpec>()

function specOf(tool: Tool): ToolSpec {
  const { name, description, inputSchema } = tool
  const spec = specs.get(tool) ?? Object.freeze({ name, description, inputSchema })
  specs.set(tool, spec)
  return spec
}

/** Settings of a run's replies: those of its inputs, else its persona's, else the model's own. Its profile limits them. */
export function settingsFor(
  { options }: Pick<Run, 'options'>,
  { persona, limits }: { persona: Persona | null; limits: { maxTokens?: number } },
  model: Model,
): ModelSettings {
  const { thinking: usual, maxTokens: asked, temperature } = { ...persona?.defaultModelConfig, ...options }
  const { maxTokens = asked } = limits
  const thinking = usual ?? (model.thinking && { level: model.thinking })
  return {
    ...(thinking && model.thinks !== false && { thinking }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
  }
}

/** Max reply tokens within a window: leaves a small one room for the question, and keeps narratives to a few sentences. */
export function maxOutput(
  { limits }: Engine,
  window: number,
  run: Pick<Run, 'agent'>,
  { maxTokens }: ModelSettings = {},
): number {
  const limit = isBackground(run)
    ? Math.min(limits.maxOutputTokens, narrativeTokens)
    : (maxTokens ?? limits.maxOutputTokens)
  return Math.max(1, Math.min(limit, Math.floor(window * maxOutputShare)))
}
