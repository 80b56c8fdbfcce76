import type { Coverage } from '../domain/approval.ts'
import { HeddleError, StorageFailure } from '../domain/errors.ts'
import type { RequestedCall } from '../domain/model.ts'
import { escapeInvisible } from '../domain/text/visible.ts'
import type { Call, CallContext, Effect, OwnChanges, Preview, Tool, ToolOutcome } from '../domain/tools/tool.ts'
import { pathHandle } from './files/handle.ts'

/** A validated call: its tool and parsed input. */
export interface ReadyCall {
  call: RequestedCall
  tool: Tool
  value: unknown
  /** The grant that allowed it, if a file change ends that grant: the call runs alone, after another check. */
  grant?: Coverage & { mustShowSources: boolean }
  /** Only the host of its address was allowed, not what it says: a redirect could carry that elsewhere. */
  staysOnHost?: boolean
}

/**
 * Validates a call before it runs: a run can call only the tools it was given, and invalid input is reported to the model.
 */
export function prepareCall(
  call: RequestedCall,
  tools: ReadonlyMap<string, Tool>,
  effective: readonly string[],
): ReadyCall | { refused: ToolOutcome } {
  const tool = effective.includes(call.name) ? tools.get(call.name) : undefined
  if (!tool) {
    const available = effective.length > 0 ? `available: ${effective.join(', ')}` : 'you have no tools'
    return { refused: failed('forbidden', `no tool named "${call.name}"; ${available}`) }
  }
  const parsed = tool.parse(call.input)
  if (!parsed.ok) return { refused: failed('error', `invalid input for ${call.name}: ${parsed.why}`) }
  return { call, tool, value: parsed.value }
}

/**
 * Runs a non-transactional call. Throws only when its run was aborted or the database failed: every other failure becomes
 * an outcome, which the journal needs.
 */
export async function makeCall({ tool, value, staysOnHost }: ReadyCall, context: CallContext): Promise<ToolOutcome> {
  if (tool.effect === 'transactional') throw new Error(`${tool.name} must be made in a transaction`)
  try {
    return await tool.run(value, callFor({ tool, value, ...(staysOnHost && { staysOnHost }) }, context))
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason
    if (error instanceof StorageFailure) throw error
    return toErrorOutcome(error)
  }
}

/** Preview of a call for its approval. For tools without a preview it is the input. */
export async function previewCall({ call, tool, value }: ReadyCall, context: CallContext): Promise<Preview> {
  const plain = { facts: [], change: escapeInvisible(JSON.stringify(call.input ?? {}, null, 2)), frozen: null }
  if (!tool.preview) return plain
  if (tool.effect === 'transactional') return tool.preview(value, context)
  return tool.preview(value, callFor({ tool, value }, context))
}

/** The calls that a grant for this one would cover. */
export async function coverageOf({ call, tool, value }: ReadyCall, context: CallContext): Promise<Coverage> {
  const { folder } = context
  if (tool.effect !== 'transactional' && tool.covers) return tool.covers(value, callFor({ tool, value }, context))
  const pattern = JSON.stringify({ input: call.input ?? null })
  return { tool: call.name, folder, cwd: folder, pattern, confinement: null }
}

/** Changes in the folder since the preview of a call, one line each. */
export async function changedSincePreview(
  { tool, value }: ReadyCall,
  baseline: string,
  context: CallContext,
  own: OwnChanges,
): Promise<string[]> {
  if (tool.effect === 'transactional' || !tool.changedSince) return []
  return tool.changedSince(baseline, value, callFor({ tool, value }, context), own)
}

/** Gives a tool access to the paths and URLs in its input, and to nothing else. */
export function callFor(ready: Pick<ReadyCall, 'tool' | 'value' | 'staysOnHost'>, context: CallContext): Call {
  const { tool, value } = ready
  const { network: _, ...rest } = context
  return { ...rest, handle: handlesFor(tool, value, context), fetch: fetchFor(ready, context) }
}

/** Runs a transactional call, in the transaction that also stores its outcome. */
export async function writeCall({ tool, value }: ReadyCall, tx: unknown, context: CallContext): Promise<ToolOutcome> {
  if (tool.effect !== 'transactional') throw new Error(`${tool.name} must not be made in a transaction`)
  return tool.write(tx, value, context)
}

/** Whether a call that a crash interrupted may be repeated. */
export function mayRepeat(effect: Effect): boolean {
  return effect !== 'unsafe'
}

/** Converts an error to the outcome that the model gets. */
export function toErrorOutcome(error: unknown): ToolOutcome {
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof HeddleError)) return failed('error', message)
  return failed(error.code === 'forbidden' ? 'forbidden' : 'error', message, error.remedy)
}

/** Resolves the path parameters of a call: the tool's only access to files. */
function handlesFor(
  { name, paths = [] }: { name: string; paths?: readonly string[] },
  input: unknown,
  call: CallContext,
) {
  const handles = new Map(
    paths.map((parameter) => {
      const text = (input as Record<string, unknown>)[parameter] ?? '.'
      if (typeof text !== 'string') throw new Error(`${name} lets ${parameter} be something else than text`)
      return [parameter, pathHandle({ folder: call.folder, path: text, protect: call.protect })]
    }),
  )
  return (parameter: string): ReturnType<Call['handle']> => {
    const handle = handles.get(parameter)
    if (!handle) throw new Error(`${name} does not declare ${parameter} as a path`)
    return handle
  }
}

/** Fetches the URL parameters of a call: the tool's only network access. */
function fetchFor(
  { tool, value, staysOnHost }: Pick<ReadyCall, 'tool' | 'value' | 'staysOnHost'>,
  { network, signal }: CallContext,
): Call['fetch'] {
  const { name, urls = [] }: { name: string; urls?: readonly string[] } = tool
  return async (parameter) => {
    const text = (value as Record<string, unknown>)[parameter]
    if (!urls.includes(parameter)) throw new Error(`${name} does not declare ${parameter} as a URL`)
    if (typeof text !== 'string') throw new Error(`${name} lets ${parameter} be something else than text`)
    if (!network) throw new HeddleError('forbidden', 'there is no network here', 'work with what you have')
    return network(text, signal, staysOnHost ? { staysOnHost } : {})
  }
}

function failed(status: 'error' | 'forbidden', error: string, remedy?: string): ToolOutcome {
  return { status, output: { status, error, ...(remedy !== undefined && { remedy }) } }
}
