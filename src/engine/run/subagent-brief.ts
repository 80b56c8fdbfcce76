import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Reading } from '../../store/store.ts'
import type { SubagentBrief } from '../model/prompt.ts'
import { findCall } from './find-call.ts'

/** Reads what a sub-agent is told about its work, the same for every run that continues it. */
export async function readSubagentBrief(
  rows: Reading,
  run: Pick<Run, 'subagent' | 'requesterSessionId' | 'parentRunId' | 'toolCallId'>,
  session: Pick<Session, 'label'>,
): Promise<SubagentBrief | undefined> {
  if (!run.subagent) return undefined
  const [requester] = await findSessions(rows, { id: run.requesterSessionId ?? '' })
  const call = await findCall(rows, run.parentRunId ?? '', run.toolCallId ?? '')
  const { title, shareMode } = run.subagent
  return {
    title,
    shareMode,
    requester: requester?.label ?? 'unknown',
    session: session.label,
    task: (call?.input as { task?: string } | undefined)?.task?.trim() ?? title,
  }
}
