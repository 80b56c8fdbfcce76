import type { Coverage } from '../domain/approval.ts'
import { HeddleError, StorageFailure } from '../domain/errors.ts'
import type { RequestedCall } from '../domain/model.ts'
import type { Call, CallContext, Effect, OwnChanges, Preview, Tool, ToolOutcome } from '../domain/tool.ts'
import { visible } from '../domain/visible.ts'
import { pathHandle } from './handle.ts'

/** A call that may be made: its tool, and its input as the tool understands it. */
export interface ReadyCall {
  call: RequestedCall
  tool: Tool
  value: unknown
  /** What allowed it, where that ends as soon as a file is changed: it is made alone, and looked at again before. */
  grant?: Coverage
}

/**
 * Decides about a call before anything happens: a tool that was not given to this run does not exist for it, and input
 * that does not fit is told to the model instead of being tried.
 */
export function prepareCall(
  call: RequestedCall,
  tools: ReadonlyMap<string, Tool>,
  effective: readonly string[],
): ReadyCall | { refused: ToolOutcome } {
  const tool = effective.includes(call.name) ? tools.get(call.name) : undefined
  if (!tool) {
    const known = effective.length > 0 ? `you have: ${effective.join(', ')}` : 'you have no tools'
    return { refused: failed('forbidden', `there is no tool "${call.name}" here; ${known}`) }
  }
  const parsed = tool.parse(call.input)
  if (!parsed.ok) return { refused: failed('error', `the input of ${call.name} does not fit: ${parsed.why}`) }
  return { call, tool, value: parsed.value }
}

/**
 * Makes a call that has no rows of its own. Throws only when its run was stopped or the database failed: everything else is
 * an answer, which the journal needs.
 */
export async function makeCall({ tool, value }: ReadyCall, context: CallContext): Promise<ToolOutcome> {
  if (tool.effect === 'transactional') throw new Error(`${tool.name} must be made in a transaction`)
  try {
    return await tool.run(value, callFor({ tool, value }, context))
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason
    if (error instanceof StorageFailure) throw error
    return explained(error)
  }
}

/** What a call would do, for whoever is asked about it. Tools without a preview are shown as they are called. */
export async function previewCall({ call, tool, value }: ReadyCall, context: CallContext): Promise<Preview> {
  const plain = { facts: [], change: visible(JSON.stringify(call.input ?? {}, null, 2)), frozen: null }
  if (!tool.preview) return plain
  if (tool.effect === 'transactional') return tool.preview(value, context)
  return tool.preview(value, callFor({ tool, value }, context))
}

/** What an answer for more than one call would cover. */
export async function coverageOf({ call, tool, value }: ReadyCall, context: CallContext): Promise<Coverage> {
  const { folder } = context
  if (tool.effect !== 'transactional' && tool.covers) return tool.covers(value, callFor({ tool, value }, context))
  const pattern = JSON.stringify({ input: call.input ?? null })
  return { tool: call.name, folder, cwd: folder, pattern, confinement: null }
}

/** What became of the folder since a call was previewed, one line each. */
export async function changedSincePreview(
  { tool, value }: ReadyCall,
  baseline: string,
  context: CallContext,
  own: OwnChanges,
): Promise<string[]> {
  if (tool.effect === 'transactional' || !tool.changedSince) return []
  return tool.changedSince(baseline, value, callFor({ tool, value }, context), own)
}

/** A call with what its tool may reach: the paths and URLs that it was asked for, and nothing else. */
export function callFor({ tool, value }: Pick<ReadyCall, 'tool' | 'value'>, context: CallContext): Call {
  const { network: _, ...rest } = context
  return { ...rest, handle: handlesFor(tool, value, context), fetch: fetchFor(tool, value, context) }
}

/** Makes a call that only writes our rows, in the transaction that also stores its answer. */
export async function writeCall({ tool, value }: ReadyCall, tx: unknown, context: CallContext): Promise<ToolOutcome> {
  if (tool.effect !== 'transactional') throw new Error(`${tool.name} must not be made in a transaction`)
  return tool.write(tx, value, context)
}

/** Whether a call that began before a crash, and has no end, may simply be made again. */
export function mayRepeat(effect: Effect): boolean {
  return effect !== 'unsafe'
}

/** A failure as the model is told of it. */
export function explained(error: unknown): ToolOutcome {
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof HeddleError)) return failed('error', message)
  return failed(error.code === 'forbidden' ? 'forbidden' : 'error', message, error.remedy)
}

/** Resolves the paths of a call: a tool gets to files by these handles, and by nothing else. */
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

/** Lets a call fetch the URLs that it was asked for: a tool gets to the network by this, and by nothing else. */
function fetchFor(
  { name, urls = [] }: { name: string; urls?: readonly string[] },
  input: unknown,
  { network, signal }: CallContext,
): Call['fetch'] {
  return async (parameter) => {
    const text = (input as Record<string, unknown>)[parameter]
    if (!urls.includes(parameter)) throw new Error(`${name} does not declare ${parameter} as a URL`)
    if (typeof text !== 'string') throw new Error(`${name} lets ${parameter} be something else than text`)
    if (!network) throw new HeddleError('forbidden', 'there is no network here', 'work with what you have')
    return network(text, signal)
  }
}

function failed(status: 'error' | 'forbidden', error: string, remedy?: string): ToolOutcome {
  return { status, output: { status, error, ...(remedy !== undefined && { remedy }) } }
}
