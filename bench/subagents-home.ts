import { ownerText } from '../src/domain/access/principal.ts'
import { newRun } from '../src/domain/run.ts'
import { subagentLabel } from '../src/domain/session.ts'
import type { Runtime } from '../src/engine/runtime.ts'
import { append, startSession } from '../src/engine/turns/append.ts'
import { homePaths } from '../src/home/home.ts'
import { insertResult } from '../src/store/rows/results.ts'
import { insertRun, runsOf } from '../src/store/rows/runs.ts'
import { findSessions } from '../src/store/rows/sessions.ts'
import { recordUsage } from '../src/store/rows/usage.ts'
import { draftOf, folder, growBy, openWorldAt } from './scratch.ts'

const usage = { inputTokens: 1200, outputTokens: 80, cachedTokens: 0, costUsd: 0.01 }

/** Gives the session `main` of a home this many ended sub-agents, each with a turn, a result and a model call. */
export async function addEndedSubagents(home: string, count: number): Promise<void> {
  const runtime = await openWorldAt(homePaths(home).database)
  const [main] = await runtime.store.read((rows) => findSessions(rows, { folder, label: 'main' }))
  const [root] = await runtime.store.read((rows) => runsOf(rows, {}))
  if (!main || !root) throw new Error('the home has no session "main"')
  const labels = Array.from({ length: count }, () => runtime.newId())
  await growBy((id) => addEnded(runtime, id, { requesterId: main.id, rootId: root.id }), labels, count)
  await runtime.store.close()
}

async function addEnded(
  runtime: Runtime,
  id: string,
  { requesterId, rootId }: { requesterId: string; rootId: string },
): Promise<{ turnId: string }> {
  const { store, clock, newId } = runtime
  const now = clock.now()
  const label = subagentLabel('general', id)
  await store.write('step', async (tx) => {
    const session = await startSession(tx, {
      ...{ sessionId: newId(), segmentId: newId(), folder, label, kind: 'agent', principalId: ownerText, now },
    })
    const run = newRun({ id, kind: 'spawn', via: 'sessions_spawn', sessionId: session.id, principal: ownerText, now })
    await insertRun(tx, {
      ...run,
      state: 'completed',
      finishedAt: now,
      agent: 'general',
      rootRunId: rootId,
      parentRunId: rootId,
      depth: 1,
      requesterSessionId: requesterId,
      subagent: { title: `work ${id}`, cleanup: 'keep', shareMode: 'isolated' },
    })
    await recordUsage(tx, { runId: id, call: 1, rootRunId: rootId, principal: ownerText, model: 'main' }, usage, now)
    await insertResult(tx, {
      ...{ runId: id, taskId: null, skillUsed: 'general', status: 'completed', output: 'It is done.' },
      ...{ artifacts: [], createdAt: now, processed: true },
    })
  })
  return append(runtime, { folder, label, draft: draftOf(400) })
}
