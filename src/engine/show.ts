import type { ResultView, RunView, Shown, TurnView } from '../domain/app.ts'
import type { Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import { joinLabels } from '../domain/label.ts'
import { parseReference } from '../domain/reference.ts'
import { type Thread, threadKey } from '../domain/turn.ts'
import { describeMemory, remindedOf } from '../memory/describe.ts'
import { describeNarrative } from '../memory/narratives.ts'
import { remindedOfPassages } from '../memory/recall-passages.ts'
import { changesOf } from '../store/file-changes.ts'
import { itemsOfRun } from '../store/inbox.ts'
import { begunWith } from '../store/narratives.ts'
import { findPersona } from '../store/personas.ts'
import { findResult, resultOf } from '../store/results.ts'
import { lastAnswered } from '../store/run-signs.ts'
import { findSessions, sessionsAt } from '../store/sessions.ts'
import { readSteps, toolCallsOf } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { findTurn, readThreads } from '../store/threads.ts'
import { promptText } from '../store/turns.ts'
import { spentBy } from '../store/usage.ts'
import { lastOfEach } from './artifacts.ts'
import { preview } from './history.ts'
import { Journal } from './journal.ts'
import { noPersona } from './persona-session.ts'
import { resultLine, viewPlan, viewTask } from './plan-views.ts'
import { approvalNamed } from './questions.ts'
import { notFound, routeToThread, sessionNamed } from './route.ts'
import { runLine, runNamed } from './runs.ts'
import { viewSession } from './sessions.ts'
import type { Engine } from './world.ts'

/** What a view needs that is not in the rows. */
export interface Around extends Pick<Engine, 'agents'> {
  now: Millis
  /** What one request may cost. */
  limits: { usd: number; tokens: number; steps: number }
}

/** The whole of what a reference names. A bare word is a session, else a turn, else a run. */
export async function show(rows: Reading, text: string, folder: string, around: Around): Promise<Shown> {
  const { kind, id } = parseReference(text)
  switch (kind) {
    case 'session':
      return { kind: 'session', ...(await viewSession(rows, await sessionNamed(rows, text, folder))) }
    case 'persona':
      return { kind: 'persona', ...((await findPersona(rows, id)) ?? (await Promise.reject(noPersona(id)))) }
    case 'run':
      return viewRun(rows, id, around)
    case 'approval':
      return { kind: 'approval', ...(await approvalNamed(rows, id)) }
    case 'result':
      return viewResult(rows, id)
    case 'plan':
      return viewPlan(rows, around, id)
    case 'task':
      return viewTask(rows, around, id)
    case 'memory':
      return describeMemory(rows, id, around.now)
    case 'narrative':
      return describeNarrative(rows, id)
    case 'turn':
      return viewTurn(rows, await routeToThread(rows, text, folder))
    case null:
      return showBare(rows, id, folder, around)
    default:
      throw new HeddleError(
        'wrong_kind',
        `there are no ${kind} references yet`,
        'use turn:, run:, plan:, task:, result:, memory:, narrative:, approval:, session: or persona:',
      )
  }
}

async function showBare(rows: Reading, word: string, folder: string, around: Around): Promise<Shown> {
  const [session] = await findSessions(rows, { label: word, folder })
  if (session) return { kind: 'session', ...(await viewSession(rows, session)) }
  try {
    return await viewTurn(rows, await routeToThread(rows, word, folder))
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'not_found') throw error
    return viewRun(rows, word, around)
  }
}

async function viewTurn(rows: Reading, thread: Thread): Promise<TurnView> {
  const placed = await findTurn(rows, thread.turnId)
  if (!placed) throw notFound('turn', thread.turnId)
  const { turn } = placed
  const [steps, sessions, ancestors, systemPrompt, reminders, passages, narrative] = await Promise.all([
    readSteps(rows, turn.runId),
    sessionsAt(rows, thread),
    readThreads(rows, thread),
    turn.promptHash === null ? undefined : promptText(rows, turn.promptHash),
    // A run that makes room first leaves two turns; it is the answer that was given with them in mind.
    turn.type === 'compaction' ? [] : remindedOf(rows, turn.runId),
    turn.type === 'compaction' ? [] : remindedOfPassages(rows, turn.runId),
    turn.type === 'compaction' ? undefined : begunWith(rows, turn.runId),
  ])
  return {
    kind: 'turn',
    id: turn.id,
    parentId: turn.parentTurnId,
    depth: thread.depth,
    type: turn.type,
    status: turn.status,
    query: turn.queryMessages,
    response: turn.responseMessage,
    toolCalls: toolCallsOf(turn.toolCalls, steps),
    model: turn.model,
    thinkingConfig: turn.thinkingConfig,
    tokenCount: turn.tokenCount,
    usage: turn.usage,
    compaction: turn.compaction,
    promptHash: turn.promptHash,
    label: turn.label,
    runId: turn.runId,
    timestamp: new Date(turn.timestamp).toISOString(),
    hasChildren: thread.hasChildren,
    sessions: sessions.map(({ label }) => label),
    remindedOf: reminders,
    remindedOfFiles: passages,
    beganWith: narrative ? { id: narrative.id, summary: narrative.summary } : null,
    thread: {
      threadKey: threadKey(thread),
      totalTokens: thread.totalTokens,
      persona: thread.personaId,
      systemPrompt: systemPrompt ?? null,
      ancestry: ancestors.map(({ turnId }) => turnId),
    },
  }
}

async function viewRun(rows: Reading, id: string, { now, limits }: Around): Promise<RunView> {
  const run = await runNamed(rows, id)
  const [session] = run.sessionId === null ? [] : await findSessions(rows, { id: run.sessionId })
  const [{ kind, ...line }, usage, request, items, result, steps, answered, changes] = await Promise.all([
    runLine(rows, run, session, now),
    spentBy(rows, { runId: run.id }),
    spentBy(rows, { rootRunId: run.rootRunId }),
    itemsOfRun(rows, run.id),
    resultOf(rows, run.id),
    readSteps(rows, run.id),
    lastAnswered(rows, run.id),
    changesOf(rows, [run.id]),
  ])
  const journal = new Journal(run.id, steps)
  return {
    ...line,
    kind: 'run',
    runKind: kind,
    asked: preview(items.map(({ content }) => content).join(' ')),
    createdAt: new Date(run.createdAt).toISOString(),
    finishedAt: run.finishedAt === null ? null : new Date(run.finishedAt).toISOString(),
    epoch: run.epoch,
    crashes: run.crashes,
    tries: run.tries,
    effectiveTools: run.effectiveTools,
    label: joinLabels([run.label, ...journal.labels]),
    usage,
    budget: {
      ...limits,
      spentUsd: request.costUsd,
      spentTokens: request.inputTokens + request.outputTokens,
      request,
    },
    promptTokens: answered?.inputTokens ?? null,
    turnId: items.find(({ consumedByTurn }) => consumedByTurn !== null)?.consumedByTurn ?? null,
    ...(result && { result: { id: result.id, status: result.status, summary: result.summary } }),
    ...(run.error && { error: run.error }),
    files: lastOfEach(changes).map(({ path, after, undoneAt }) => ({ path, sha256: after, undone: undoneAt !== null })),
    commands: journal.unsafe,
    steps: steps.map(({ seq, kind, payload, at }) => ({ seq, kind, ...named(payload), at: moment(at) })),
  }
}

async function viewResult(rows: Reading, id: string): Promise<ResultView> {
  const result = /^\d{1,15}$/.test(id) ? await findResult(rows, Number(id)) : undefined
  if (!result) throw notFound('result', id, 'heddle results')
  const { output, artifacts, memoryIds } = result
  return { kind: 'result', ...resultLine(result), output, artifacts, memoryIds }
}

function moment(at: Millis | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

function named(payload: unknown): { name?: string; status?: string } {
  const { name, status } = payload as { name?: unknown; status?: unknown }
  return { ...(typeof name === 'string' && { name }), ...(typeof status === 'string' && { status }) }
}
