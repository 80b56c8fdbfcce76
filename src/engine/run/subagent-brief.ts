import type { Run } from '../../domain/run.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Reading } from '../../store/store.ts'
import type { SubagentBrief } from '../model/prompt.ts'
import { findCall } from './find-call.ts'

/** Reads what a sub-agent is told about its work, the same for every run that continues it. */
export async function readSubagentBrief(
  rows: Reading,
  run: Pick<Run, 'subagent' | 'sessionId' | 'requesterSessionId' | 'parentRunId' | 'toolCallId'>,
): Promise<SubagentBrief | undefined> {
  if (!run.subagent) return undefined
  const label = async (id: string | null) => (await findSessions(rows, { id: id ?? '' }))[0]?.label ?? 'unknown'
  const call = await findCall(rows, run.parentRunId ?? '', run.toolCallId ?? '')
  const { title, shareMode } = run.subagent
  return {
    title,
    shareMode,
    requester: await label(run.requesterSessionId),
    session: await label(run.sessionId),
    task: (call?.input as { task?: string } | undefined)?.task?.trim() ?? title,
  }
}
