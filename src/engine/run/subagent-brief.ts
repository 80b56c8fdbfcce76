import type { Run } from '../../domain/run.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Reading } from '../../store/store.ts'
import type { SubagentBrief } from '../model/prompt.ts'
import { findCall } from './calls/find-call.ts'
import type { ClaimedRun } from './claimed-run.ts'

/** Reads what a sub-agent is told about its work, the same for every run that continues it. */
export async function readSubagentBrief(
  rows: Reading,
  { run, session, items, requester }: Pick<ClaimedRun, 'run' | 'session' | 'items' | 'requester'>,
): Promise<SubagentBrief | undefined> {
  if (!run.subagent) return undefined
  const { title, shareMode } = run.subagent
  // The first run of a session has its task as its first input.
  const isFirst = requester !== undefined || session.headTurnId === null
  const task = isFirst ? items[0]?.content : await readTask(rows, run)
  return {
    title,
    shareMode,
    requester: requester ?? (await readRequester(rows, run)) ?? 'unknown',
    session: session.label,
    task: task?.trim() ?? title,
  }
}

async function readRequester(rows: Reading, { requesterSessionId }: Run): Promise<string | undefined> {
  const [requester] = await findSessions(rows, { id: requesterSessionId ?? '' })
  return requester?.label
}

async function readTask(rows: Reading, { parentRunId, toolCallId }: Run): Promise<string | undefined> {
  const call = await findCall(rows, parentRunId ?? '', toolCallId ?? '')
  return (call?.input as { task?: string } | undefined)?.task
}
