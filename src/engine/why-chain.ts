import type { Millis } from '../domain/clock.ts'
import type { InboxItem } from '../domain/inbox.ts'
import { mainArgument } from '../domain/main-argument.ts'
import type { Run } from '../domain/run.ts'
import type { WhyHow, WhyKind, WhyLink } from '../domain/why.ts'
import { findApproval } from '../store/approvals.ts'
import { itemByKey, itemsOfRun } from '../store/inbox.ts'
import { findMemory } from '../store/memories.ts'
import { findNarrative } from '../store/narratives.ts'
import { findPlan } from '../store/plans.ts'
import { findResult } from '../store/results.ts'
import { lastAnswered } from '../store/run-signs.ts'
import { findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import { findTask } from '../store/tasks.ts'
import { findThread, findTurn } from '../store/threads.ts'
import { callNamed } from './call-named.ts'
import { givenTo } from './given-results.ts'
import { preview } from './history.ts'
import { inputsOf } from './run-inputs.ts'

/** Deeper than anybody reads; a chain that is longer goes straight to who asked. */
const longest = 60

/** A thing that a chain comes to. `said` is a request, by its first run: the words that began it. */
export interface Place {
  kind: Exclude<WhyKind, 'file' | 'session' | 'message'> | 'said'
  id: string
  how: WhyHow
  /** What the link before knows of it. */
  facts?: Partial<WhyLink>
  /** Where the chain goes on, if that is known better here than there. */
  next?: Place
  /** Where it goes on when the rows of this are gone. */
  otherwise?: Place
}

interface Step {
  link: Omit<WhyLink, 'how' | 'id' | 'kind'>
  /** Undefined for what somebody put there by hand. */
  next: Place | undefined
  words?: Place
}

/** Goes from a thing back to the words of a person, by what the rows say: one thing after the other. */
export async function walkBack(rows: Reading, first: Place): Promise<WhyLink[]> {
  const chain: WhyLink[] = []
  const seen = new Set<string>()
  let request: string | undefined
  // A turn keeps the words that it answers: they are there even when its run is not, or never was any work.
  let words: Place | undefined
  for (let place: Place | undefined = first; place; ) {
    const isNew = place.kind === 'said' || !seen.has(`${place.kind}:${place.id}`)
    if (!isNew || (chain.length >= longest && place.kind !== 'said')) {
      place = request === undefined ? undefined : said(request)
      continue
    }
    seen.add(`${place.kind}:${place.id}`)
    if (place.kind === 'said') return [...chain, await sayer(rows, words?.id === place.id ? words : place)]
    const run: Run | undefined = place.kind === 'run' ? await findRun(rows, place.id) : undefined
    request = run?.rootRunId || request
    const step: Step | undefined = run ? await fromRun(rows, run) : await stepFrom(rows, place)
    words = step?.words ?? words
    const { kind, id, how, facts } = place
    chain.push({ kind, id, ...(step?.link ?? gone(kind)), how, ...facts } as WhyLink)
    const lost: Place | undefined = place.otherwise ?? place.next ?? (request === undefined ? undefined : said(request))
    place = step ? (place.next ?? step.next) : lost
  }
  return chain
}

/** The request that a run belongs to. */
export function said(rootRunId: string): Place {
  return { kind: 'said', id: rootRunId, how: 'you said' }
}

/** Undefined when its rows are gone. */
async function stepFrom(rows: Reading, { kind, id }: Place): Promise<Step | undefined> {
  switch (kind) {
    case 'turn':
      return fromTurn(rows, id)
    case 'result':
      return fromResult(rows, Number(id))
    case 'task':
      return fromTask(rows, Number(id))
    case 'plan':
      return fromPlan(rows, Number(id))
    case 'approval':
      return fromApproval(rows, Number(id))
    case 'memory':
      return fromMemory(rows, Number(id))
    case 'narrative':
      return fromNarrative(rows, Number(id))
    default:
      return undefined
  }
}

async function fromTurn(rows: Reading, id: string): Promise<Step | undefined> {
  const turn = (await findTurn(rows, id))?.turn
  if (!turn) return undefined
  const facts = { title: preview(turn.queryMessages[0]?.content ?? ''), id, kind: 'turn' as const }
  const words: Place = { ...said(turn.runId), facts: { ...facts, at: moment(turn.queryMessages[0]?.timestamp) } }
  return {
    link: { title: preview(turn.responseMessage.content), at: moment(turn.timestamp) },
    next: { kind: 'run', id: turn.runId, how: 'answered by', otherwise: words },
    words,
  }
}

async function fromRun(rows: Reading, run: Run): Promise<Step> {
  const task = run.taskId === null ? undefined : await findTask(rows, run.taskId)
  const items = await inputsOf(rows, run)
  const given = await givenTo(rows, run)
  const model = (await lastAnswered(rows, run.id))?.model
  return {
    link: {
      title: task?.title ?? preview(items.map(({ content }) => content).join(' ')),
      at: moment(run.createdAt),
      ...(run.agent !== null && { agent: run.agent }),
      ...(model !== undefined && { model }),
      ...(given.length > 0 && { given }),
    },
    next: await beforeRun(rows, run, given),
  }
}

/** What a run was begun for: a task of a plan, what it was given, whoever began it, or what its session heard. */
async function beforeRun(rows: Reading, run: Run, given: number[]): Promise<Place> {
  const request = said(run.rootRunId || run.id)
  const [first] = given
  // Nobody asked for it: the talk that it tells of did.
  const tells = run.via === 'narrator' ? (await itemsOfRun(rows, run.id)).findLast((item) => item.tells) : undefined
  if (tells?.tells) return { kind: 'turn', id: tells.tells.turnId, how: 'tells of', otherwise: request }
  if (run.taskId !== null) return { kind: 'task', id: String(run.taskId), how: 'because of', otherwise: request }
  if (first !== undefined && run.id !== request.id)
    return {
      kind: 'result',
      id: String(first),
      how: run.parentRunId === null ? 'woken by' : 'from',
      otherwise: await starterOf(rows, run, request),
    }
  return run.id === request.id ? request : starterOf(rows, run, request)
}

async function starterOf(rows: Reading, run: Run, request: Place): Promise<Place> {
  if (run.parentRunId === null) return request
  const tool = run.toolCallId === null ? undefined : await toolOf(rows, run.parentRunId, run.toolCallId)
  const facts = {
    ...(tool !== undefined && { tool }),
    ...(run.toolCallId !== null && { callId: run.toolCallId }),
  }
  return { kind: 'run', id: run.parentRunId, how: 'started by', facts, otherwise: request }
}

/** The name of a call; undefined when the journal is gone. */
export async function toolOf(rows: Reading, runId: string, callId: string): Promise<string | undefined> {
  return (await callNamed(rows, runId, callId))?.name
}

async function fromResult(rows: Reading, id: number): Promise<Step | undefined> {
  const result = await findResult(rows, id)
  if (!result) return undefined
  const told = await itemByKey(rows, `result:${result.runId}`)
  const request = told?.rootRunId ? said(told.rootRunId) : undefined
  const otherwise: Place | undefined =
    result.taskId === null
      ? request
      : { kind: 'task', id: String(result.taskId), how: 'because of', ...(request && { otherwise: request }) }
  return {
    link: {
      title: result.summary,
      at: moment(result.createdAt),
      runId: result.runId,
      ...(result.skillUsed !== null && { agent: result.skillUsed }),
    },
    next: { kind: 'run', id: result.runId, how: 'made by', ...(otherwise && { otherwise }) },
  }
}

/** From the result that it was found in, else from the run that noted it, else from somebody's own hand. */
async function fromMemory(rows: Reading, id: number): Promise<Step | undefined> {
  const memory = await findMemory(rows, id)
  if (!memory) return undefined
  const { runId, resultId, content, forgottenAt, source, createdAt } = memory
  const run: Place | undefined = runId === null ? undefined : { kind: 'run', id: runId, how: 'noted in' }
  const title = forgottenAt === null ? preview(content) : 'forgotten'
  return {
    link: { title: run || resultId !== null ? title : `${title} (added by hand: ${source})`, at: moment(createdAt) },
    next:
      resultId === null ? run : { kind: 'result', id: String(resultId), how: 'from', ...(run && { otherwise: run }) },
  }
}

/** Who wrote it, and what was said in the turn that it tells of. */
async function fromNarrative(rows: Reading, id: number): Promise<Step | undefined> {
  const narrative = await findNarrative(rows, id)
  if (!narrative) return undefined
  const { runId, turnId, summary, createdAt } = narrative
  const turn: Place | undefined = turnId === null ? undefined : { kind: 'turn', id: turnId, how: 'tells of' }
  const run: Place | undefined = runId === null ? undefined : { kind: 'run', id: runId, how: 'written by' }
  return {
    link: { title: preview(summary), at: moment(createdAt), ...(runId !== null && { runId }) },
    next: run && turn ? { ...run, next: turn, otherwise: turn } : (run ?? turn),
  }
}

async function fromTask(rows: Reading, id: number): Promise<Step | undefined> {
  const task = await findTask(rows, id)
  if (!task) return undefined
  const { title, createdAt, planId } = task
  return {
    link: { title, at: moment(createdAt), planId, agent: task.skill },
    next: { kind: 'plan', id: String(planId), how: 'part of' },
  }
}

async function fromPlan(rows: Reading, id: number): Promise<Step | undefined> {
  const plan = await findPlan(rows, id)
  if (!plan) return undefined
  return {
    link: { title: plan.title, at: moment(plan.createdAt) },
    next: { kind: 'run', id: plan.plannedBy, how: 'planned in', otherwise: said(plan.rootRunId) },
  }
}

async function fromApproval(rows: Reading, id: number): Promise<Step | undefined> {
  const approval = await findApproval(rows, id)
  if (!approval) return undefined
  const { tool, input, askedAt, runId, callId } = approval
  return {
    link: { title: `${tool} ${mainArgument(input)}`.trim(), at: moment(askedAt) },
    next: { kind: 'run', id: runId, how: 'asked by', facts: { tool, callId } },
  }
}

/** The words that began a request, with the turn that answers them. */
async function sayer(rows: Reading, { id, facts }: Place): Promise<WhyLink> {
  const run = await findRun(rows, id)
  const items = run ? await inputsOf(rows, run) : await itemsOfRun(rows, id)
  const item = items.find(({ source, kind }) => source === 'human' && kind !== 'result') ?? items[0]
  if (!item) {
    const how = 'you said' as const
    return facts ? ({ ...facts, how } as WhyLink) : { kind: 'run', id, how, ...gone('run'), missing: true }
  }
  const turnId = item.consumedByTurn
  const words = { title: preview(item.content), at: moment(item.createdAt), how: howSaid(item) }
  if (turnId === null) return { kind: 'message', id: item.id, ...words }
  const isThere = (await findThread(rows, turnId)) !== undefined
  return { kind: 'turn', id: turnId, ...words, ...(!isThere && { missing: true }) }
}

function howSaid({ source }: InboxItem): WhyHow {
  return source === 'human' ? 'you said' : 'was told'
}

function gone(kind: Place['kind']): Pick<WhyLink, 'title' | 'at' | 'missing'> {
  return { title: `this ${kind} is not kept any more`, at: null, missing: true }
}

export function moment(at: Millis | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString()
}
