import { joinLabels, type Label } from '../../domain/label.ts'
import type { Session } from '../../domain/session.ts'
import type { ToolOutcome } from '../../domain/tools/tool.ts'
import type { Reading } from '../../store/store.ts'
import { briefHeading } from '../run/spawn.ts'
import type { Engine } from '../runtime.ts'
import { type BriefReader, maxBriefBytes, tooLongReason } from './brief-size.ts'
import { refuseCall } from './plan-call.ts'
import { resolvePointers } from './pointers.ts'

/** A task as a call gives it to an agent. */
interface CallBrief {
  task: string
  context?: string | undefined
  reader: BriefReader
}

/** What an agent is told: task and context, with results in place of pointers; or why the call is refused. */
export async function composeCallBrief(
  rows: Reading,
  engine: Engine,
  session: Session,
  { task, context, reader }: CallBrief,
): Promise<{ content: string; label: Label } | { refusal: ToolOutcome }> {
  const text = context?.trim() ? `${task}${briefHeading}${context}` : task
  const tooLong = tooLongReason(engine, text, reader)
  if (tooLong !== undefined) return { refusal: refuseCall(tooLong, 'make it shorter and call again') }
  const resolved = await resolvePointers(rows, text, session, maxBriefBytes(engine, reader))
  if ('problems' in resolved)
    return { refusal: refuseCall(resolved.problems.join('; '), 'use result ids that you have seen') }
  return { content: resolved.text, label: joinLabels(resolved.labels) }
}
