import type { Model, ModelRequest, ToolSpec } from '../domain/model.ts'
import type { Persona } from '../domain/persona.ts'
import type { Run } from '../domain/run.ts'
import { isBackground } from './role.ts'
import type { Engine } from './world.ts'

// At most this part of a window is left for the reply.
const outputPart = 0.25
const narrativeTokens = 2000

/** What a model is shown, before the call has a number. */
export type Shown = Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'stablePrefix' | 'note'>

/** Who thinks for a run: whom it was asked for, else its persona's choice, else the default. */
export function modelFor(engine: Engine, run: Pick<Run, 'modelRequested'>, persona: Persona | null): Model {
  return engine.model(run.modelRequested ?? persona?.defaultModelConfig?.model ?? null)
}

/** The tools of a run as its model sees them. */
export function toolSpecs(engine: Engine, run: Pick<Run, 'effectiveTools'>): ToolSpec[] {
  return run.effectiveTools.flatMap((name) => {
    const tool = engine.tools.get(name)
    return tool ? [{ name, description: tool.description, inputSchema: tool.inputSchema }] : []
  })
}

/** The longest reply that leaves a small window room for the question. A narrative is a few sentences, thoughts included. */
export function mostOutput({ limits }: Engine, { window }: Model, run: Pick<Run, 'agent'>): number {
  const most = isBackground(run) ? Math.min(limits.maxOutputTokens, narrativeTokens) : limits.maxOutputTokens
  return Math.max(1, Math.min(most, Math.floor(window * outputPart)))
}
