import type { Approval, answers } from '../domain/approval.ts'
import type { Event } from '../domain/event.ts'
import { tail } from '../domain/id.ts'
import { mainArgument } from '../domain/main-argument.ts'
import type { Plan, Task } from '../domain/plan.ts'
import type { Run, Step } from '../domain/run.ts'
import type { Spending } from '../domain/spending.ts'
import type { WhyNote, WhyTopic } from '../domain/why.ts'
import { approvalsOf, findApproval } from '../store/approvals.ts'
import { findPlan } from '../store/plans.ts'
import { failedCalls, keepsEventsSince, pausesOf, runsOfTask } from '../store/provenance.ts'
import { findResult, listResults, type Result } from '../store/results.ts'
import { findRun } from '../store/runs.ts'
import { readSteps } from '../store/steps.ts'
import type { Reading } from '../store/store.ts'
import { countTasks, findTask } from '../store/tasks.ts'
import { findTurn } from '../store/threads.ts'
import { spentBy } from '../store/usage.ts'
import { countLine } from './dispatch.ts'
import { preview } from './history.ts'
import { type EndedStep, Journal, type ReplyStep } from './journal.ts'
import { moment } from './why-chain.ts'
import { narrativeNotes } from './why-story.ts'

const mostOfAKind = 8

/** What one request may cost. */
export interface Budget {
  usd: number
  tokens: number
}

/** What else is to be said about the thing that a chain begins with. */
export async function notesOn(rows: Reading, kind: string, id: string, budget: Budget): Promise<WhyNote[]> {
  if (kind === 'run') return runNotes(rows, id, budget)
  if (kind === 'turn') return turnNotes(rows, id)
  if (kind === 'task') return taskNotes(rows, Number(id))
  if (kind === 'plan') return planNotes(rows, Number(id))
  if (kind === 'approval') return approvalNotes(rows, Number(id))
  if (kind === 'narrative') return narrativeNotes(rows, Number(id))
  return kind === 'result' ? resultNotes(rows, Number(id)) : []
}

/** Why a run waited, was tried again, was refused something, was interrupted, how it ended, and what it cost. */
async function runNotes(rows: Reading, id: string, budget: Budget): Promise<WhyNote[]> {
  const run = await findRun(rows, id)
  if (!run) return []
  const steps = await readSteps(rows, id)
  const asked = await approvalsOf(rows, id)
  const events = await pausesOf(rows, id)
  const isWhole = await keepsEventsSince(rows, run.createdAt)
  return [
    ...atMost(asked.map(waitNote), 'questions'),
    ...(run.waitingFor === null || run.waitingFor === 'approval' ? [] : [stillWaits(run)]),
    ...atMost(events.flatMap(pauseNote), 'pauses and fallbacks'),
    ...(events.length === 0 && run.tries > 0 ? [say('retried', `${run.tries} tries of its last model call`)] : []),
    ...atMost(refusalNotes(steps, asked), 'calls that were not made'),
    ...crashNotes(run, new Journal(id, steps), isWhole ? events : undefined, asked),
    ...endNotes(run),
    ...(run.kind === 'import' ? [] : [await costNote(rows, run, budget)]),
  ]
}

/** How it ended, where that was not well. */
async function turnNotes(rows: Reading, id: string): Promise<WhyNote[]> {
  const turn = (await findTurn(rows, id))?.turn
  const run = turn && (await findRun(rows, turn.runId))
  if (run?.kind === 'import') return [say('note', 'it was written by hand or imported: nobody was asked')]
  if (run) return endNotes(run)
  return turn && turn.status !== 'completed' ? [say('ended', turn.status, turn.timestamp)] : []
}

function waitNote({ id, tool, input, askedAt, answer, answerReason, answeredAt }: Approval): WhyNote {
  const what = `${tool} ${mainArgument(input)}`.trim()
  const ref = `approval:${id}`
  if (answeredAt === null) return say('waited', `waits for an answer to ${ref}, ${what}`, askedAt, ref)
  const reason = answerReason === null ? '' : `: ${answerReason}`
  const said = answer === 'no' ? `no${reason}` : `yes, ${scopeWords[answer ?? 'once']}`
  const waited = `waited ${duration(answeredAt - askedAt)} for ${ref}, ${what}; the answer was ${said}`
  return say(answer === 'no' ? 'refused' : 'waited', waited, askedAt, ref)
}

const scopeWords: Record<(typeof answers)[number], string> = {
  once: 'once',
  session: 'for the session',
  agent: 'for this agent in this folder',
  no: 'no',
}

function stillWaits({ waitingFor, wakeAt }: Run): WhyNote {
  return say('waited', `waits now: ${waitingFor}${wakeAt === null ? '' : `, until ${moment(wakeAt)}`}`)
}

function pauseNote({ kind, at, payload }: Pick<Event, 'kind' | 'at' | 'payload'>): WhyNote[] {
  if (kind === 'run.fallback')
    return [say('retried', `went on with ${payload['to']}, since ${payload['from']} failed: ${payload['error']}`, at)]
  if (kind !== 'run.waiting' || payload['for'] === 'approval') return []
  const until = Number(payload['until'])
  const pause = Number.isNaN(until) ? '' : ` ${duration(until - at)}`
  const error = payload['error'] === undefined ? '' : `: ${payload['error']}`
  return [say('waited', `paused${pause} for a ${payload['for']}${error}`, at)]
}

/** Calls that were refused or failed, with the reason that the model was told. */
function refusalNotes(steps: Step[], asked: Approval[]): WhyNote[] {
  const denied = new Set(asked.filter(({ answer }) => answer === 'no').map(({ callId }) => callId))
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
    const became = {
      forbidden: 'was refused',
      error: repeated ? 'was not made again' : 'failed',
      unknown: 'may have happened',
    }
    return [say('refused', `${what} ${became[status]}${why}`, at ?? undefined)]
  })
}

/** Each claim has an epoch: those that no pause explains came after a process that ended in the middle. */
function crashNotes(
  run: Run,
  journal: Journal,
  events: Pick<Event, 'kind'>[] | undefined,
  asked: Approval[],
): WhyNote[] {
  if (run.epoch <= 1) return []
  const pauses = events ? events.filter(({ kind }) => kind === 'run.waiting').length : asked.length
  const interrupted = Math.max(0, run.epoch - 1 - pauses)
  if (interrupted === 0) return []
  const unknown = journal.unknown === 0 ? '' : `; calls with unknown outcome: ${journal.unknown}`
  const how = events ? '' : ' (or paused: its events are not kept)'
  const times = interrupted === 1 ? 'once' : `${interrupted} times`
  return [say('crashed', `interrupted ${times}${how}, and taken up where its journal ended${unknown}`)]
}

function endNotes({ state, error, cancelReason, finishedAt }: Run): WhyNote[] {
  const at = finishedAt ?? undefined
  if (error) return [say('ended', `${state}: ${error.message} → ${error.remedy}`, at)]
  return cancelReason === null ? [] : [say('ended', `${state}: ${cancelReason}`, at)]
}

async function costNote(rows: Reading, run: Run, budget: Budget): Promise<WhyNote> {
  const [own, request] = [
    await spentBy(rows, { runId: run.id }),
    await spentBy(rows, { rootRunId: run.rootRunId || run.id }),
  ]
  const failed = await failedCalls(rows, run.id)
  const calls = `${own.calls} model ${own.calls === 1 ? 'call' : 'calls'}${failed === 0 ? '' : ` (${failed} failed)`}`
  const all = `${moneyOf(request)} of $${budget.usd}, ${tokensOf(request)} of ${budget.tokens} tokens`
  return say('spent', `${calls}, ${tokensOf(own)} tokens, ${moneyOf(own)}; its request: ${all}`)
}

/** `~` marks what is not all told by providers. */
function tokensOf(spent: Spending): string {
  const estimated = spent.estimatedInputTokens + spent.estimatedOutputTokens
  return `${estimated > 0 ? '~' : ''}${spent.inputTokens + spent.outputTokens + estimated}`
}

function moneyOf({ costUsd, estimatedUsd, lostUsd }: Spending): string {
  const lost = lostUsd > 0 ? ` and at most ~$${lostUsd.toFixed(4)} lost` : ''
  return `${estimatedUsd > 0 ? '~' : ''}$${(costUsd + estimatedUsd).toFixed(4)}${lost}`
}

/** Every attempt, with what it came to. */
async function taskNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  const task = await findTask(rows, id)
  if (!task) return []
  const runs = await runsOfTask(rows, id)
  const results = new Map((await listResults(rows, { taskId: id })).map((result) => [result.runId, result]))
  // Runs that go on after hearing from their own children are the same attempt.
  const attempts = [...Map.groupBy(runs, ({ sessionId }) => sessionId).values()]
  const lines = attempts.flatMap((of, at) => {
    const [first, last] = [of[0], of.at(-1)]
    return first && last ? [attemptNote(at + 1, first, last, of, results)] : []
  })
  return [...atMost(lines, 'attempts'), ...needNotes(task)]
}

function attemptNote(number: number, first: Run, last: Run, of: Run[], results: Map<string, Result>): WhyNote {
  const result = of.map(({ id }) => results.get(id)).find((each) => each !== undefined)
  const came = result ? ` result:${result.id}: ${preview(result.summary)}` : ''
  const text = `attempt ${number}: run:${tail(last.id)} ${result?.status ?? last.state}${came}`
  return say('tried', text, first.createdAt, `run:${first.id}`)
}

function needNotes({ status, reason, dependsOn, attempts }: Task): WhyNote[] {
  const needs = dependsOn.map((id) => `task:${id}`).join(', ')
  return [
    ...(attempts === 0 ? [say('tried', `it has not begun (${status})`)] : []),
    ...(reason === null ? [] : [say('note', `${status}: ${reason}`)]),
    ...(needs === '' ? [] : [say('note', `it needs ${needs}`)]),
  ]
}

async function planNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  const plan = await findPlan(rows, id)
  if (!plan) return []
  return [
    say('note', `${plan.status}: ${countLine(await countTasks(rows, id)) || 'no task'}`, plan.finishedAt ?? undefined),
    ...startNotes(plan),
    ...(plan.revision > 1 ? [say('note', `this is planning ${plan.revision}`)] : []),
  ]
}

function startNotes({ startedBy }: Plan): WhyNote[] {
  return [
    startedBy === null
      ? say('note', 'nobody has started it')
      : say('note', `started in run:${tail(startedBy)}`, undefined, `run:${startedBy}`),
  ]
}

/** Who asked, for what and why, and what the answer was. */
async function approvalNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  const approval = await findApproval(rows, id)
  if (!approval) return []
  const { reason, label, change } = approval
  const sources = label.sources.length === 0 ? '' : `, from ${label.sources.join(', ')}`
  return [
    say('asked', `because ${reason}${label.integrity === 'untrusted' ? `; untrusted words led here${sources}` : ''}`),
    say('asked', `for ${inShort(change)}`),
    waitNote(approval),
  ]
}

/** What a change comes to: of a diff how many lines, of anything else its opening. */
function inShort(change: string): string {
  const [, path] = /^--- [^\n]*\n\+\+\+ b\/([^\n]*)/.exec(change) ?? []
  if (path === undefined) return preview(change)
  const lines = change.split('\n').slice(2)
  const [more, less] = ['+', '-'].map((sign) => lines.filter((line) => line.startsWith(sign)).length)
  // Earlier versions kept only the beginning of a long one.
  const atLeast = lines.at(-1)?.startsWith('… [cut') ? 'at least ' : ''
  return `a change of ${path}: ${atLeast}${more} lines more, ${less} less`
}

async function resultNotes(rows: Reading, id: number): Promise<WhyNote[]> {
  const result = await findResult(rows, id)
  if (!result) return []
  const files = result.artifacts.map(({ path, verified }) => path + (verified ? '' : ' (not verified)'))
  return [
    ...(result.status === 'completed' ? [] : [say('ended', result.status, result.createdAt)]),
    ...(files.length === 0 ? [] : atMost([say('note', `with ${files.slice(0, mostOfAKind).join(', ')}`)], 'files')),
    ...(result.processed ? [] : [say('note', 'whoever asked for it has not read it yet')]),
  ]
}

function say(topic: WhyTopic, text: string, at?: number, ref?: string): WhyNote {
  return { topic, text, at: moment(at), ...(ref !== undefined && { ref }) }
}

function atMost(notes: WhyNote[], what: string): WhyNote[] {
  const [last] = notes.slice(-1)
  if (notes.length <= mostOfAKind || !last) return notes
  const more = notes.length - mostOfAKind
  return [...notes.slice(0, mostOfAKind), { topic: last.topic, text: `and ${more} more ${what}`, at: null }]
}

function duration(passed: number): string {
  const ms = Math.max(0, passed)
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : `${Math.round(ms / 1000)}s`
}
