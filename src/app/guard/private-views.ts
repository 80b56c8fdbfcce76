import type { ShowResult } from '../../api/turns.ts'
import type { RunStep } from '../../api/views/run.ts'
import type { WhyView } from '../../api/views/why.ts'
import { type Event, stepsIn } from '../../domain/event.ts'
import { isMemoryTool } from '../../domain/tools/tool-names.ts'
import type { ToolCall } from '../../domain/turn.ts'

const hidden = '(private to the owner)'

/** Leaves out what is private to the owner: the prompt, made of the owner's files, narratives, and what was recalled or stored. */
export function withoutPrivate(shown: ShowResult): ShowResult {
  if (shown.kind === 'task') return { ...shown, narratives: [] }
  if (shown.kind !== 'turn') return shown
  const thread = { ...shown.thread, systemPrompt: null }
  return { ...withoutPrivateCalls(shown), remindedOf: [], remindedOfFiles: [], beganWith: null, thread }
}

/** A turn without what memory tools were given and gave. */
export function withoutPrivateCalls<T extends { toolCalls: ToolCall[] }>(turn: T): T {
  return { ...turn, toolCalls: turn.toolCalls.map(withoutMemories) }
}

/** A step without what a memory tool was given or gave. */
export function withoutPrivateStep(step: RunStep): RunStep {
  if (step.tool === undefined || !isMemoryTool(step.tool)) return step
  return { ...step, ...('input' in step && { input: hidden }), ...('output' in step && { output: hidden }) }
}

/** An event without what a memory tool was given. */
export function withoutPrivateDetails(event: Event): Event {
  if (event.kind !== 'run.step') return event
  const steps = stepsIn(event).map(({ about, ...step }) =>
    about === undefined || isMemoryTool(String(step['name'])) ? step : { ...step, about },
  )
  const { about: _, ...payload } = event.payload
  return { ...event, payload: { ...payload, steps } }
}

function withoutMemories(call: ToolCall): ToolCall {
  return isMemoryTool(call.name) ? { ...call, input: hidden, output: hidden } : call
}

/** Leaves out of an explanation what is private to the owner: memories, and the narratives around it. */
export function withoutPrivateLinks({ story: _, ...view }: WhyView): WhyView {
  return { ...view, chain: view.chain.filter(({ kind }) => kind !== 'memory' && kind !== 'narrative') }
}
