import { ownerText } from '../src/domain/access/principal.ts'
import { newRun } from '../src/domain/run.ts'
import type { Runtime } from '../src/engine/runtime.ts'
import { append } from '../src/engine/turns/append.ts'
import { listSessions } from '../src/engine/turns/sessions.ts'
import { listRuns, listUsage } from '../src/engine/views/runs.ts'
import { insertRun } from '../src/store/rows/runs.ts'
import { recordUsage } from '../src/store/rows/usage.ts'
import type { Reading } from '../src/store/store.ts'
import { type Figure, figure, measure } from './figures.ts'
import { draftOf, folder, growBy, openWorld, type Scratch } from './scratch.ts'

const sessions = 10_000
const rounds = 20
const usage = { inputTokens: 1200, outputTokens: 80, cachedTokens: 0, costUsd: 0.01 }

/** What `sessions`, `ps` and `usage` read, in a home of ten thousand sessions. */
export async function measureLists(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`a home of ${sessions} sessions`)
  const runtime = await openWorld(scratch, 'lists')
  const labels = Array.from({ length: sessions }, (_, number) => `session-${number}`)
  await growBy((label) => addSession(runtime, label), labels, sessions)
  const now = runtime.clock.now()
  const lists: Record<string, (rows: Reading) => Promise<unknown>> = {
    sessions: (rows) => listSessions(rows, { folder, kind: 'person', archived: false, limit: 31 }),
    ps: (rows) => listRuns(rows, now, { limit: 1000 }),
    'ps -a': (rows) => listRuns(rows, now, { all: true, limit: 51 }),
    usage: (rows) => listUsage(rows, 'model', now, { limit: 30 }),
    'usage --by session': (rows) => listUsage(rows, 'session', now, { limit: 30 }),
  }
  const figures: Figure[] = []
  for (const [name, list] of Object.entries(lists)) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) times.push(await measure(() => runtime.store.read(list)))
    const detail = `${sessions} sessions with a run and a model call each, SQLite, ${rounds} times`
    figures.push(figure(`heddle ${name}: reading`, 'ms', { atMost: 50 }, times, detail))
  }
  await runtime.store.close()
  return figures
}

async function addSession(runtime: Runtime, label: string): Promise<{ turnId: string }> {
  const appended = await append(runtime, { folder, label, draft: draftOf(400) })
  const id = runtime.newId()
  const now = runtime.clock.now()
  await runtime.store.write('step', async (tx) => {
    const run = newRun({ id, kind: 'turn', via: 'user', sessionId: appended.session.id, principal: ownerText, now })
    await insertRun(tx, { ...run, state: 'completed', finishedAt: now })
    await recordUsage(tx, { runId: id, call: 1, rootRunId: id, principal: ownerText, model: 'main' }, usage, now)
  })
  return appended
}
