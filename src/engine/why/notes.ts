import type { WhyNote, WhyTopic } from '../../api/views/why.ts'
import type { Approval, answers } from '../../domain/approval.ts'
import type { Event } from '../../domain/event.ts'
import { shortId } from '../../domain/id.ts'
import type { Plan, Task } from '../../domain/plan.ts'
import type { Run, Step } from '../../domain/run.ts'
import type { Spending } from '../../domain/spending.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import { retryReason } from '../../domain/text/failure-words.ts'
import { mainArgument } from '../../domain/text/main-argument.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { approvalsOf, findApproval } from '../../store/rows/approvals.ts'
import { findPlan } from '../../store/rows/plans.ts'
import { failedCalls, keepsEventsSince, pausesOf, runsOfTask } from '../../store/rows/provenance.ts'
import { findResult, listResults, type Result } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { readSteps } from '../../store/rows/steps.ts'
import { countTasks, findTask } from '../../store/rows/tasks.ts'
import { findTurn } from '../../store/rows/threads.ts'
import { spendingBy } from '../../store/rows/usage.ts'
import type { Reading } from '../../store/store.ts'
import { artifactsNow } from '../files/artifacts.ts'
import { dropRestored, type LostWrite, lossLines, lostByPlan } from '../files/lost-writes.ts'
import { countLine } from '../plans/dispatch.ts'
import { type EndedStep, Journal, type ReplyStep } from '../run/context/journal.ts'
import { preview } from '../turns/history.ts'
import { moment } from './chain.ts'
import { narrativeNotes } from './story.ts'

const maxPerKind = 8

/** Max cost of one request. */
export interface Budget {
  usd: number
  tokens: number
}

/** Notes on the first thing of a chain. */
export async function notesOn(
  rows: Reading,
  kind: string,
  id: string,
  { budget, protect }: { budget: Budget; protect: ProtectedPlaces },
): Promise<WhyNote[]> {
  if (kind === 'run') return runNotes(rows, id, budget)
  if (kind === 'turn') return turnNotes(rows, id)
  if (kind === 'task') return taskNotes(rows, protect, Number(id))
  if (kind === 'plan') return planNotes(rows, protect, Number(id))
  if (kind === 'approval') return approvalNotes(rows, Number(id))
  if (kind === 'narrative') return narrativeNotes(rows, Number(id))
  return kind === 'result' ? resultNotes(rows, protect, Number(id)) : []
}

/** Notes on a run: waits, retries, refused calls, interruptions, its end and its cost. */
async function runNotes(rows: Reading, id: string, budget: Budget): Promise<WhyNote[]> {
  const run = await findRun(rows, id)
  if (!run) return []
  const steps = await readSteps(rows, id)
  const approvals = await approvalsOf(rows, id)
  const events = await pausesOf(rows, id)
  const isWhole = await keepsEventsSince(rows, run.createdAt)
  return [
    ...limitNotes(approvals.map(waitNote), 'questions'),
    ...(run.waitingFor === null || run.waitingFor === 'approval' ? [] : [currentWaitNote(run)]),
    ...limitNotes(events.flatMap(pauseNote), 'pauses and fallbacks'),
    ...(events.length === 0 && run.tries > 0 ? [note('retried', `${run.tries} tries of its last model call`)] : []),
    ...limitNotes(refusalNotes(steps, approvals), 'calls that were not made'),
    ...crashNotes(run, new Journal(id, steps), isWhole ? events : undefined, approvals),
    ...endNotes(run),
    ...(run.kind === 'import' ? [] : [await costNote(rows, run, budget)]),
  ]
}

/** Notes on a turn that did not complete or was not made by a run. */
async function turnNotes(rows: Reading, id: string): Promise<WhyNote[]> {
  const turn = (await findTurn(rows, id))?.turn
  const run = turn && (await findRun(rows, turn.runId))
  if (run?.kind === 'import') return [note('note', 'added by hand or imported; no model call')]
  if (run) return endNotes(run)
  return turn && turn.status !== 'completed' ? [note('ended', turn.status, turn.timestamp)] : []
}

function waitNote({ id, tool, input, askedAt, answer, answerReason, answeredAt }: Approval): WhyNote {
  const what = `${tool} ${mainArgument(input)}`.trim()
  const ref = `approval:${id}`
  if (answeredAt === null) return note('waited', `waits for an answer to ${ref}, ${what}`, askedAt, ref)
  const reason = answerReason === null ? '' : `: ${answerReason}`
  const decision = answer === 'no' ? `no${reason}` : `yes, ${scopeWords[answer ?? 'once']}`
  const waited = `waited ${duration(answeredAt - askedAt)} for ${ref}, ${what}; the answer was ${decision}`
  return note(answer === 'no' ? 'refused' : 'waited', waited, askedAt, ref)
}

const scopeWords: Record<(typeof answers)[number], string> = {
  once: 'once',
  session: 'for the session',
  agent: 'for this agent in this folder',
  no: 'no',
}

function currentWaitNote({ waitingFor, wakeAt }: Run): WhyNote {
  return note('waited', `waits now: ${waitingFor}${wakeAt === null ? '' : `, until ${moment(wakeAt)}`}`)
}

function pauseNote({ kind, at, payload }: Pick<Event, 'kind' | 'at' | 'payload'>): WhyNote[] {
  if (kind === 'run.fallback')
    return [
      note(
        'retried',
        `went on with ${payload['to']}, since ${payload['from']} failed: ${retryReason(String(payload['error']))}`,
        at,
      ),
    ]
  if (kind !== 'run.waiting' || payload['for'] === 'approval') return []
  const until = Number(payload['until'])
  const pause = Number.isNaN(until) ? '' : ` ${duration(until - at)}`
  const error = payload['error'] === undefined ? '' : `: ${retryReason(String(payload['error']))}`
  return [note('waited', `paused${pause} for a ${payload['for']}${error}`, at)]
}

/** Notes on refused and failed calls, with the reason given to the model. */
function refusalNotes(steps: Step[], approvals: Approval[]): WhyNote[] {
  const denied = new Set(approvals.filter(({ answer }) => answer === 'no').map(({ callId }) => callId))
  const inputs = new Map(
    steps.flatMap(({ kind, payload }) =>
      kind === 'reply' ? (payload as ReplyStep).calls.map(({ id, input }) => [id, input] as const) : [],
    ),
  )
  return steps.flatMap(({ kind, payload, at }) => {
    const { id, name, status, output, repeated } = payload as EndedStep
    if (kind !== 'ended' || status === 'ok' || denied.has(id)) return []
    const error = (output as { error?: unknown } | null)?.error
    const why = typeof error === 'string' ? `: ${preview(error)}` : ''
    const what = `${name} ${mainArgument(inputs.get(id))}`.trim()
    const outcome = {
      forbidden: 'was refused',
      error: repeated ? 'was not made again' : 'failed',
      unknown: 'may have happened',
    }
    return [note('refused', `${what} ${outcome[status]}${why}`, at ?? undefined)]
  })
}

/** Each claim has a new epoch: claims that no pause explains followed a crash. */
function crashNotes(
  run: Run,
  journal: Journal,
  events: Pick<Event, 'kind'>[] | undefined,
  approvals: Approval[],
): WhyNote[] {
  if (run.epoch <= 1) return []
  const pauses = events ? events.filter(({ kind }) => kind === 'run.waiting').length : approvals.length
  const interrupted = Math.max(0, run.epoch - 1 - pauses)
  if (interrupted === 0) return []
  const unknown = journal.unknownCount === 0 ? '' : `; calls with unknown outcome: ${journal.unknownCount}`
  const how = events ? '' : ' (or paused: its events are not kept)'
  const times = interrupted === 1 ? 'once' : `${interrupted} times`
  return [note('crashed', `interrupted ${times}${how}, resumed from its journal${unknown}`)]
}

function endNotes({ state, error, cancelReason, finishedAt }: Run): WhyNote[] {
  const at = finishedAt ?? undefined
  if (error) return [note('ended', `${state}: ${error.message} → ${error.remedy}`, at)]
  return cancelReason === null ? [] : [note('ended', `${state}: ${cancelReason}`, at)]
}

async function costNote(rows: Reading, run: Run, budget: Budget): Promise<WhyNote> {
  const [own, request] = [
    await spendingBy(rows, { runId: run.id }),
    await spendingBy(rows, { rootRunId: run.rootRunId || run.id }),
  ]
  const failed = await failedCalls(rows, run.id)
  const calls = `${countNoun(own.calls, 'model call')}${failed === 0 ? '' : ` (${failed} failed)`}`
  const all = `${moneyOf(request)} of $${budget.usd}, ${formatTokens(request)} of ${budget.tokens} tokens`
  return note('spent', `${calls}, ${formatTokens(own)} tokens, ${moneyOf(own)}; its request: ${all}`)
}

/** Token count; `~` marks an estimate. */
function formatTokens(spent: Spending): string {
  const estimated = spent.estimatedInputTokens + spent.estimatedOutputTokens
  return `${estimated > 0 ? '~' : ''}${spent.inputTokens + spent.outputTokens + estimated}`
}

function moneyOf({ costUsd, estimatedUsd, lostUsd }: Spending): string {
  const lost = lostUsd > 0 ? ` and at most ~$${lostUsd.toFixed(4)} lost` : ''
  return `${estimatedUsd > 0 ? '~' : ''}$${(costUsd + estimatedUsd).toFixed(4)}${lost}`
}

/** Notes on a task: each attempt with its result, dependencies, lost writes. */
async function taskNotes(rows: Reading, protect: ProtectedPlaces, id: number): Promise<WhyNote[]> {
  const task = await findTask(rows, id)
  if (!task) return []
  const runs = await runsOfTask(rows, id)
  const results = new Map((await listResults(rows, { taskId: id })).map((result) => [result.runId, result]))
  // Later runs in the same session, woken by children, belong to the same attempt.
  const attempts = [...Map.groupBy(runs, ({ sessionId }) => sessionId).values()]
  const lines = attempts.flatMap((ofAttempt, at) => {
    const [first, last] = [ofAttempt[0], ofAttempt.at(-1)]
    return first && last ? [attemptNote(at + 1, first, last, ofAttempt, results)] : []
  })
  const lost = (await lostByPlan(rows, task.planId)).filter((each) => each.lost.run.taskId === id)
  return [...limitNotes(lines, 'attempts'), ...dependencyNotes(task), ...(await lossNotes(lost, protect))]
}

function attemptNote(number: number, first: Run, last: Run, runs: Run[], results: Map<string, Result>): WhyNote {
  const result = runs.map(({ id }) => results.get(id)).find((each) => each !== undefined)
  const summary = result ? ` result:${result.id}: ${preview(result.summary)}` : ''
  const text = `attempt ${number}: run:${shortId(last.id)} ${result?.status ?? last.state}${summary}`
  return note('tried', text, first.createdAt, `run:${first.id}`)
}

function dependencyNotes({ status, reason, dependsOn, attempts }: Task): WhyNote[] {
  const needs = dependsOn.map((id) => `task:${id}`).join(', ')
  return [
    ...(attempts === 0 ? [note('tried', `it has not started (${status})`)] : []),
    ...(reason === null ? [] : [note('note', `${status}: ${reason}`)]),
    ...(needs === '' ? [] : [note('note', `it needs ${needs}`)]),
  ]
}

async function planNotes(rows: Reading, protect: ProtectedPlaces, id: number): Promise<WhyNote[]> {
  const plan = await findPlan(rows, id)
  if (!plan) return []
  return [
    note('note', `${plan.status}: ${countLine(await countTasks(rows, id)) || 'no task'}`, plan.finishedAt ?? undefined),
    ...startNotes(plan),
    ...(plan.revision > 1 ? [note('note', `this is revision ${plan.revision}`)] : []),
    ...(await lossNotes(await lostByPlan(rows, id), protect)),
  ]
}

async function lossNotes(lost: readonly LostWrite[], protect: ProtectedPlaces): Promise<WhyNote[]> {
  return lossLines(await dropRestored(lost, protect)).map((line) => note('note', line))
}

function startNotes({ startedBy }: Plan): WhyNote[] {
  return [
    startedBy === null
      ? note('note', 'it was not started')
      : note('note', `started in run:${shortId(startedBy)}`, undefined, `run:${startedBy}`),
  ]
}

/** Notes on an approval: the reason, the change, and the answer. */
async function approvalNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  const approval = await findApproval(rows, id)
  if (!approval) return []
  const { reason, label, change } = approval
  const sources = label.sources.length === 0 ? '' : `, from ${label.sources.join(', ')}`
  return [
    note(
      'asked',
      `because ${reason}${label.integrity === 'untrusted' ? `; untrusted content led here${sources}` : ''}`,
    ),
    note('asked', `for ${summarizeChange(change)}`),
    waitNote(approval),
  ]
}

/** A change in short: the line counts of a diff, else its first line. */
function summarizeChange(change: string): string {
  const [, path] = /^--- [^\n]*\n\+\+\+ b\/([^\n]*)/.exec(change) ?? []
  if (path === undefined) return preview(change)
  const lines = change.split('\n').slice(2)
  const [more, less] = ['+', '-'].map((sign) => lines.filter((line) => line.startsWith(sign)).length)
  // Earlier versions kept only the beginning of a long one.
  const atLeast = lines.at(-1)?.startsWith('… [cut') ? 'at least ' : ''
  return `a change to ${path}: ${atLeast}${more} lines added, ${less} removed`
}

async function resultNotes(rows: Reading, protect: ProtectedPlaces, id: number): Promise<WhyNote[]> {
  const result = await findResult(rows, id)
  if (!result) return []
  const artifacts = await artifactsNow(rows, protect, result)
  const files = artifacts.map(({ path, since }) => path + (since === undefined ? '' : ` (${since})`))
  return [
    ...(result.status === 'completed' ? [] : [note('ended', result.status, result.createdAt)]),
    ...(files.length === 0 ? [] : limitNotes([note('note', `with ${files.slice(0, maxPerKind).join(', ')}`)], 'files')),
    ...(result.processed ? [] : [note('note', 'its requester has not read it yet')]),
  ]
}

function note(topic: WhyTopic, text: string, at?: number, ref?: string): WhyNote {
  return { topic, text, at: moment(at), ...(ref !== undefined && { ref }) }
}

function limitNotes(notes: WhyNote[], what: string): WhyNote[] {
  const [last] = notes.slice(-1)
  if (notes.length <= maxPerKind || !last) return notes
  const more = notes.length - maxPerKind
  return [...notes.slice(0, maxPerKind), { topic: last.topic, text: `and ${more} more ${what}`, at: null }]
}

function duration(passed: number): string {
  const ms = Math.max(0, passed)
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : `${Math.round(ms / 1000)}s`
}
