import type { ShowResult } from '../../api/turns.ts'
import type { ResultView } from '../../api/views/result.ts'
import type { RunView } from '../../api/views/run.ts'
import type { TurnView } from '../../api/views/turn.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError } from '../../domain/errors.ts'
import { joinLabels } from '../../domain/label.ts'
import { parseReference } from '../../domain/reference.ts'
import { type Thread, threadKey } from '../../domain/turn.ts'
import { describeMemory, remindedOf } from '../../memory/describe.ts'
import { describeNarrative } from '../../memory/narratives.ts'
import { remindedOfPassages } from '../../memory/recall-passages.ts'
import { shownNarrative } from '../../memory/shown-narrative.ts'
import { narrativeRecalledBy } from '../../store/knowledge/narratives.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'
import { changesOf } from '../../store/rows/file-changes.ts'
import { itemsOfRun } from '../../store/rows/inbox.ts'
import { findPersona } from '../../store/rows/personas.ts'
import { findResult, resultOf } from '../../store/rows/results.ts'
import { lastAnsweredCall } from '../../store/rows/run-activity.ts'
import { listedRun } from '../../store/rows/run-lists.ts'
import { findSessions, sessionsAt } from '../../store/rows/sessions.ts'
import { readSteps, toolCallsOf } from '../../store/rows/steps.ts'
import { findTurn, readThreads } from '../../store/rows/threads.ts'
import { promptText } from '../../store/rows/turns.ts'
import { spendingBy } from '../../store/rows/usage.ts'
import type { Reading } from '../../store/store.ts'
import { artifactsNow, lastChanges } from '../files/artifacts.ts'
import { resultLine, viewPlan, viewTask } from '../plans/plan-views.ts'
import { Journal } from '../run/context/journal.ts'
import type { Engine } from '../runtime.ts'
import { noPersona } from '../turns/persona-session.ts'
import { notFound, resolveSession, routeToThread } from '../turns/route.ts'
import { viewSessionDetails } from '../turns/sessions.ts'
import { resolveApproval } from './questions.ts'
import { findRunByReference, resolveRun, runLines } from './runs.ts'

/** Context of `show`. */
interface ShowContext extends Pick<Engine, 'agents' | 'protect'> {
  now: Millis
  /** Max cost of one request. */
  limits: { usd: number; tokens: number; steps: number }
  /** Which sessions the reader may know of; all by default. */
  only?: OwnedBy
}

/** Shows what a reference names. A bare word is a session, else a turn, else a run. */
export async function show(rows: Reading, text: string, folder: string, context: ShowContext): Promise<ShowResult> {
  const { kind, id } = parseReference(text)
  switch (kind) {
    case 'session':
      return { kind: 'session', ...(await viewSessionDetails(rows, await resolveSession(rows, text, folder))) }
    case 'persona':
      return { kind: 'persona', ...((await findPersona(rows, id)) ?? (await Promise.reject(noPersona(id)))) }
    case 'run':
      return viewRun(rows, id, context)
    case 'approval':
      return { kind: 'approval', ...(await resolveApproval(rows, id)) }
    case 'result':
      return viewResult(rows, id, context)
    case 'plan':
      return viewPlan(rows, context, id)
    case 'task':
      return viewTask(rows, context, id)
    case 'memory':
      return describeMemory(rows, id, context.now)
    case 'narrative':
      return describeNarrative(rows, id)
    case 'turn':
      return viewTurn(rows, await routeToThread(rows, text, folder), context)
    case null:
      return showBare(rows, id, folder, context)
    default:
      throw new HeddleError(
        'wrong_kind',
        `heddle show does not support ${kind}: references`,
        'use turn:, run:, plan:, task:, result:, memory:, narrative:, approval:, session: or persona:',
      )
  }
}

async function showBare(rows: Reading, word: string, folder: string, context: ShowContext): Promise<ShowResult> {
  const [session] = await findSessions(rows, { label: word, folder })
  if (session) return { kind: 'session', ...(await viewSessionDetails(rows, session)) }
  try {
    return await viewTurn(rows, await routeToThread(rows, word, folder), context)
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'not_found') throw error
    const run = await findRunByReference(rows, word)
    if (!run) throw notFound('session, turn or run', word)
    return viewRun(rows, run.id, context)
  }
}

async function viewTurn(rows: Reading, thread: Thread, { only }: ShowContext): Promise<TurnView> {
  const placed = await findTurn(rows, thread.turnId)
  if (!placed) throw notFound('turn', thread.turnId)
  const { turn } = placed
  const [steps, sessions, ancestors, systemPrompt, ownSystemPrompt, reminders, passages, narrative] = await Promise.all(
    [
      readSteps(rows, turn.runId),
      sessionsAt(rows, thread, only),
      readThreads(rows, thread),
      turn.promptHash === null ? undefined : promptText(rows, turn.promptHash),
      thread.systemPromptHash === null ? undefined : promptText(rows, thread.systemPromptHash),
      // A run that compacts first leaves two turns; only the answer used the reminders.
      turn.type === 'compaction' ? [] : remindedOf(rows, turn.runId),
      turn.type === 'compaction' ? [] : remindedOfPassages(rows, turn.runId),
      turn.type === 'compaction' ? undefined : narrativeRecalledBy(rows, turn.runId),
    ],
  )
  const began = narrative && (await shownNarrative(rows, narrative))
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
    settings: turn.settings,
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
    beganWith: began ? { id: began.id, summary: began.summary } : null,
    thread: {
      threadKey: threadKey(thread),
      totalTokens: thread.totalTokens,
      persona: thread.personaId,
      boundBy: thread.boundBy,
      systemPrompt: systemPrompt ?? null,
      ownSystemPrompt: ownSystemPrompt ?? null,
      ancestry: ancestors.map(({ turnId }) => turnId),
    },
  }
}

async function viewRun(rows: Reading, id: string, { now, limits }: ShowContext): Promise<RunView> {
  const run = await resolveRun(rows, id)
  const listed = await listedRun(rows, run.id)
  const [[line], usage, request, items, result, steps, answered, changes] = await Promise.all([
    runLines(rows, listed ? [listed] : [], now),
    spendingBy(rows, { runId: run.id }),
    spendingBy(rows, { rootRunId: run.rootRunId }),
    itemsOfRun(rows, run.id),
    resultOf(rows, run.id),
    readSteps(rows, run.id),
    lastAnsweredCall(rows, run.id),
    changesOf(rows, [run.id]),
  ])
  if (!line) throw notFound('run', id)
  const journal = new Journal(run.id, steps)
  const { tellsOf: _, ...told } = line
  return {
    ...told,
    kind: 'run',
    runKind: run.kind,
    epoch: run.epoch,
    crashes: run.crashes,
    tries: run.tries,
    effectiveTools: run.effectiveTools,
    ceiling: run.ceiling,
    profile: run.profile,
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
    files: lastChanges(changes).map(({ path, after, undoneAt }) => ({
      path,
      sha256: after,
      undone: undoneAt !== null,
    })),
    commands: journal.unsafeCalls,
    steps: steps.map(({ seq, kind, payload, at }) => ({
      seq,
      kind,
      ...nameAndStatus(payload),
      at: at === null ? null : new Date(at).toISOString(),
    })),
  }
}

async function viewResult(rows: Reading, id: string, { protect }: ShowContext): Promise<ResultView> {
  const result = /^\d{1,15}$/.test(id) ? await findResult(rows, Number(id)) : undefined
  if (!result) throw notFound('result', id)
  const { output, memoryIds } = result
  const artifacts = await artifactsNow(rows, protect, result)
  return { kind: 'result', ...resultLine(result), output, artifacts, memoryIds }
}

function nameAndStatus(payload: unknown): { name?: string; status?: string } {
  const { name, status } = payload as { name?: unknown; status?: unknown }
  return { ...(typeof name === 'string' && { name }), ...(typeof status === 'string' && { status }) }
}
