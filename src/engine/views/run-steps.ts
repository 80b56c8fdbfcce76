import type { RunStep, RunSteps } from '../../api/views/run.ts'
import type { Step } from '../../domain/run.ts'
import { callsOfRun } from '../../store/rows/lists/usage-lists.ts'
import { readSteps } from '../../store/rows/steps.ts'
import type { Reading } from '../../store/store.ts'
import type { BegunStep, CompactStep, EndedStep, ReplyStep, SteerStep } from '../run/context/journal.ts'
import { cutValue } from '../turns/windows.ts'
import { resolveRun } from './runs.ts'

/** Longer texts, inputs and outputs are cut. */
const maxText = 64 * 1024

/** What a run did, step by step with the words, and its model calls. */
export async function viewRunSteps(rows: Reading, reference: string): Promise<RunSteps> {
  const run = await resolveRun(rows, reference)
  const [steps, calls] = await Promise.all([readSteps(rows, run.id), callsOfRun(rows, run.id)])
  return {
    steps: steps.map(viewStep),
    calls: calls.map(({ at, ...call }) => ({ ...call, at: new Date(at).toISOString() })),
  }
}

function viewStep({ seq, kind, at, payload }: Step): RunStep {
  const step = { seq, kind, at: at === null ? null : new Date(at).toISOString() }
  switch (kind) {
    case 'reply': {
      const { text, model } = payload as ReplyStep
      return { ...step, text: cut(text), model }
    }
    case 'begun': {
      const { id, name, input } = payload as BegunStep
      return { ...step, callId: id, tool: name, input: cutValue(input, maxText) }
    }
    case 'ended': {
      const { id, name, status, output } = payload as EndedStep
      return { ...step, callId: id, tool: name, status, output: cutValue(output, maxText) }
    }
    case 'steer':
      return { ...step, text: cut((payload as SteerStep).items.map(({ content }) => content).join('\n\n')) }
    case 'compact':
      return { ...step, text: cut((payload as CompactStep).summary) }
  }
}

function cut(text: string): string {
  return String(cutValue(text, maxText))
}
