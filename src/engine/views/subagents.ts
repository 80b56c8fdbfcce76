import type { SubagentLine, SubagentView } from '../../api/subagents.ts'
import { checkLimit, type ListPage, type PageOptions } from '../../api/views/page.ts'
import { HeddleError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { isTerminal } from '../../domain/run.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { findResult } from '../../store/rows/results.ts'
import { findSubagent, listSubagents, type SubagentRecord } from '../../store/rows/subagents/subagents.ts'
import type { Reading } from '../../store/store.ts'
import { resolveRun } from './runs.ts'

const defaultSubagents = 50

/** Sub-agents that work, or the newest of all, newest first. */
export async function viewSubagents(
  rows: Reading,
  { all = false, limit = defaultSubagents, ...filter }: OwnedBy & PageOptions & { all?: boolean } = {},
): Promise<ListPage<SubagentLine>> {
  const found = await listSubagents(rows, { ...filter, live: !all, limit: checkLimit(limit) + 1 })
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1)?.runId : undefined
  return { rows: shown.map(lineOf), ...(last !== undefined && { next: last }) }
}

/** One sub-agent with its result, or the reason why there is none. */
export async function viewSubagent(rows: Reading, reference: string): Promise<SubagentView> {
  const { id } = await resolveRun(rows, reference)
  const record = await findSubagent(rows, id)
  if (!record)
    throw new HeddleError(
      'not_subagent',
      `run:${shortId(id)} is not a sub-agent`,
      `look at it with: heddle show run:${shortId(id)}`,
    )
  const result = record.result ? await findResult(rows, record.result.id) : undefined
  return {
    ...lineOf(record),
    lastRunId: record.lastRunId,
    ...(result && { resultId: result.id, result: result.output }),
    ...(record.error && { error: record.error.message }),
  }
}

function lineOf(record: SubagentRecord): SubagentLine {
  const { isWorking, state, result, startedAt, finishedAt } = record
  const end = isWorking ? null : finishedAt
  return {
    runId: record.runId,
    sessionKey: record.sessionKey,
    requesterKey: record.requesterKey,
    label: record.label ?? shortId(record.runId),
    task: record.isRemoved ? '(transcript removed)' : record.task,
    model: record.model,
    status: isWorking || !isTerminal(state) ? 'running' : (result?.status ?? state),
    startedAt: new Date(startedAt).toISOString(),
    ...(end !== null && { finishedAt: new Date(end).toISOString(), durationMs: end - startedAt }),
  }
}
