import type { WhyHow, WhyKind, WhyLink } from '../../api/views/why.ts'
import type { Millis } from '../../domain/clock.ts'
import type { InboxItem } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { mainArgument } from '../../domain/text/main-argument.ts'
import { shownNarrative } from '../../memory/shown-narrative.ts'
import { findMemory } from '../../store/knowledge/memories.ts'
import { findNarrative } from '../../store/knowledge/narratives.ts'
import { findApproval } from '../../store/rows/approvals.ts'
import { itemByKey, itemsOfRun } from '../../store/rows/inbox.ts'
import { findPlan } from '../../store/rows/plans.ts'
import { findResult } from '../../store/rows/results.ts'
import { lastAnsweredCall } from '../../store/rows/run-activity.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findTask } from '../../store/rows/tasks.ts'
import { findThread, findTurn } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { findCall } from '../run/calls/find-call.ts'
import { inputsOf } from '../run/run-inputs.ts'
import { preview } from '../turns/history.ts'
import { resultsGivenTo } from './given-results.ts'

/** Max links; a longer chain skips to the request. */
const maxLinks = 60

/** A node of a chain. `request` is a request, by the id of its first run: the input that started it. */
export interface ChainNode {
  kind: Exclude<WhyKind, 'file' | 'session' | 'message'> | 'request'
  id: string
  how: WhyHow
  /** Facts known from the link before. */
  facts?: Partial<WhyLink>
  /** Next node, if the link before knows it better. */
  next?: ChainNode
  /** Next node if the rows of this one are gone. */
  otherwise?: ChainNode
}

interface ChainStep {
  link: Omit<WhyLink, 'how' | 'id' | 'kind'>
  /** Undefined for what the user added. */
  next: ChainNode | undefined
  words?: ChainNode
}

/** Walks from a thing back to the user's input, link by link, by the rows alone. */
export async function walkBack(rows: Reading, first: ChainNode): Promise<WhyLink[]> {
  const chain: WhyLink[] = []
  const seen = new Set<string>()
  let request: string | undefined
  // A turn stores its own input: it is there even if its run is gone or was imported.
  let words: ChainNode | undefined
  for (let node: ChainNode | undefined = first; node; ) {
    const isFirstVisit = node.kind === 'request' || !seen.has(`${node.kind}:${node.id}`)
    if (!isFirstVisit || (chain.length >= maxLinks && node.kind !== 'request')) {
      node = request === undefined ? undefined : requestNode(request)
      continue
    }
    seen.add(`${node.kind}:${node.id}`)
    if (node.kind === 'request') return [...chain, await requestLink(rows, words?.id === node.id ? words : node)]
    const run: Run | undefined = node.kind === 'run' ? await findRun(rows, node.id) : undefined
    request = run?.rootRunId || request
    const step: ChainStep | undefined = run ? await fromRun(rows, run) : await readChainStep(rows, node)
    words = step?.words ?? words
    const { kind, id, how, facts } = node
    chain.push({ kind, id, ...(step?.link ?? missingLink(kind)), how, ...facts } as WhyLink)
    const lost: ChainNode | undefined =
      node.otherwise ?? node.next ?? (request === undefined ? undefined : requestNode(request))
    node = step ? (node.next ?? step.next) : lost
  }
  return chain
}

/** Node of the request with this root run. */
function requestNode(rootRunId: string): ChainNode {
  return { kind: 'request', id: rootRunId, how: 'you said' }
}

/** The link of a node and its next node; undefined if its rows are gone. */
async function readChainStep(rows: Reading, { kind, id }: ChainNode): Promise<ChainStep | undefined> {
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

async function fromTurn(rows: Reading, id: string): Promise<ChainStep | undefined> {
  const turn = (await findTurn(rows, id))?.turn
  if (!turn) return undefined
  const facts = { title: preview(turn.queryMessages[0]?.content ?? ''), id, kind: 'turn' as const }
  const words: ChainNode = {
    ...requestNode(turn.runId),
    facts: { ...facts, at: moment(turn.queryMessages[0]?.timestamp) },
  }
  return {
    link: { title: preview(turn.responseMessage.content), at: moment(turn.timestamp) },
    next: { kind: 'run', id: turn.runId, how: 'answered by', otherwise: words },
    words,
  }
}

async function fromRun(rows: Reading, run: Run): Promise<ChainStep> {
  const task = run.taskId === null ? undefined : await findTask(rows, run.taskId)
  const items = await inputsOf(rows, run)
  const given = await resultsGivenTo(rows, run)
  const model = (await lastAnsweredCall(rows, run.id))?.model
  return {
    link: {
      title: task?.title ?? preview(items.map(({ content }) => content).join(' ')),
      at: moment(run.createdAt),
      ...(run.agent !== null && { agent: run.agent }),
      ...(model !== undefined && { model }),
      ...(given.length > 0 && { given }),
    },
    next: await causeOfRun(rows, run, given),
  }
}

/** Cause of a run: a task of a plan, a result it was given, the run that started it, or its session's input. */
async function causeOfRun(rows: Reading, run: Run, given: number[]): Promise<ChainNode> {
  const request = requestNode(run.rootRunId || run.id)
  const [first] = given
  // No user asked for a narration: its cause is the turn that it narrates.
  const item = run.via === 'narrator' ? (await itemsOfRun(rows, run.id)).findLast(({ tells }) => tells) : undefined
  if (item?.tells) return { kind: 'turn', id: item.tells.turnId, how: 'tells of', otherwise: request }
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

/** The run that started this one, or its request. */
export async function starterOf(
  rows: Reading,
  run: Run,
  request = requestNode(run.rootRunId || run.id),
): Promise<ChainNode> {
  if (run.parentRunId === null) return request
  const tool = run.toolCallId === null ? undefined : await toolOf(rows, run.parentRunId, run.toolCallId)
  const facts = {
    ...(tool !== undefined && { tool }),
    ...(run.toolCallId !== null && { callId: run.toolCallId }),
  }
  return { kind: 'run', id: run.parentRunId, how: 'started by', facts, otherwise: request }
}

/** Tool of a call; undefined if the journal is gone. */
export async function toolOf(rows: Reading, runId: string, callId: string): Promise<string | undefined> {
  return (await findCall(rows, runId, callId))?.name
}

async function fromResult(rows: Reading, id: number): Promise<ChainStep | undefined> {
  const result = await findResult(rows, id)
  if (!result) return undefined
  const delivery = await itemByKey(rows, `result:${result.runId}`)
  const request = delivery?.rootRunId ? requestNode(delivery.rootRunId) : undefined
  const otherwise: ChainNode | undefined =
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

/** From the result it comes from, else the run that stored it, else the user who added it. */
async function fromMemory(rows: Reading, id: number): Promise<ChainStep | undefined> {
  const memory = await findMemory(rows, id)
  if (!memory) return undefined
  const { runId, resultId, content, forgottenAt, source, createdAt } = memory
  const run: ChainNode | undefined = runId === null ? undefined : { kind: 'run', id: runId, how: 'noted in' }
  const title = forgottenAt === null ? preview(content) : 'forgotten'
  return {
    link: { title: run || resultId !== null ? title : `${title} (added by hand: ${source})`, at: moment(createdAt) },
    next:
      resultId === null ? run : { kind: 'result', id: String(resultId), how: 'from', ...(run && { otherwise: run }) },
  }
}

/** From the run that wrote it, then the turn that it narrates. */
async function fromNarrative(rows: Reading, id: number): Promise<ChainStep | undefined> {
  const narrative = await findNarrative(rows, id)
  if (!narrative) return undefined
  const { runId, turnId, summary, createdAt } = await shownNarrative(rows, narrative)
  const turn: ChainNode | undefined = turnId === null ? undefined : { kind: 'turn', id: turnId, how: 'tells of' }
  const run: ChainNode | undefined = runId === null ? undefined : { kind: 'run', id: runId, how: 'written by' }
  return {
    link: { title: preview(summary), at: moment(createdAt), ...(runId !== null && { runId }) },
    next: run && turn ? { ...run, next: turn, otherwise: turn } : (run ?? turn),
  }
}

async function fromTask(rows: Reading, id: number): Promise<ChainStep | undefined> {
  const task = await findTask(rows, id)
  if (!task) return undefined
  const { title, createdAt, planId } = task
  return {
    link: { title, at: moment(createdAt), planId, agent: task.skill },
    next: { kind: 'plan', id: String(planId), how: 'part of' },
  }
}

async function fromPlan(rows: Reading, id: number): Promise<ChainStep | undefined> {
  const plan = await findPlan(rows, id)
  if (!plan) return undefined
  return {
    link: { title: plan.title, at: moment(plan.createdAt) },
    next: { kind: 'run', id: plan.plannedBy, how: 'planned in', otherwise: requestNode(plan.rootRunId) },
  }
}

async function fromApproval(rows: Reading, id: number): Promise<ChainStep | undefined> {
  const approval = await findApproval(rows, id)
  if (!approval) return undefined
  const { tool, input, askedAt, runId, callId } = approval
  return {
    link: { title: `${tool} ${mainArgument(input)}`.trim(), at: moment(askedAt) },
    next: { kind: 'run', id: runId, how: 'asked by', facts: { tool, callId } },
  }
}

/** The input that started a request, with the turn that answers it. */
async function requestLink(rows: Reading, { id, facts }: ChainNode): Promise<WhyLink> {
  const run = await findRun(rows, id)
  const items = run ? await inputsOf(rows, run) : await itemsOfRun(rows, id)
  const item = items.find(({ source, kind }) => source === 'human' && kind !== 'result') ?? items[0]
  if (!item) {
    const how = 'you said' as const
    return facts ? ({ ...facts, how } as WhyLink) : { kind: 'run', id, how, ...missingLink('run'), missing: true }
  }
  const turnId = item.consumedByTurn
  const words = { title: preview(item.content), at: moment(item.createdAt), how: howAsked(item) }
  if (turnId === null) return { kind: 'message', id: item.id, ...words }
  const isThere = (await findThread(rows, turnId)) !== undefined
  return { kind: 'turn', id: turnId, ...words, ...(!isThere && { missing: true }) }
}

function howAsked({ source }: InboxItem): WhyHow {
  return source === 'human' ? 'you said' : 'was told'
}

function missingLink(kind: ChainNode['kind']): Pick<WhyLink, 'title' | 'at' | 'missing'> {
  return { title: `this ${kind} is no longer stored`, at: null, missing: true }
}

export function moment(at: Millis | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString()
}
