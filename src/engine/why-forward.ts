import type { Run } from '../domain/run.ts'
import type { Came, WhyKind, WhyNote, WhyView } from '../domain/why.ts'
import { findApproval } from '../store/approvals.ts'
import { changesOf } from '../store/file-changes.ts'
import { itemByKey, itemsOfRun, turnsOfRequest } from '../store/inbox.ts'
import { findMemory } from '../store/memories.ts'
import { newestReminded } from '../store/memory-recalls.ts'
import {
  citingFrom,
  narrativesAfter,
  narrativesBy,
  narrativesOfTurn,
  newestBegunWith,
} from '../store/narrative-chain.ts'
import { findNarrative } from '../store/narratives.ts'
import { listPlans } from '../store/plans.ts'
import { runsOfTask, tasksAfter } from '../store/provenance.ts'
import { findResult, resultOf } from '../store/results.ts'
import { childrenOf, findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import { findTask, tasksOf } from '../store/tasks.ts'
import { findTurn } from '../store/threads.ts'
import { lastOfEach } from './artifacts.ts'
import { readersOf } from './file-readers.ts'
import { givenTo } from './given-results.ts'
import { preview } from './history.ts'
import { inputsOf } from './run-inputs.ts'
import { moment } from './why-chain.ts'
import type { Written } from './why-file.ts'

/** How far and how wide it is told; the rest is counted. */
const deepest = 6
const widest = 12
const mostInAll = 120
const mostReminded = 50

/** One thing that came of another, before it is known what came of it in turn. */
type Sprout = Omit<Came, 'came' | 'leftOut'>

/** What came of a file: whoever read it after it was written so. */
export async function readingsOf(rows: Reading, written: Written): Promise<{ sprouts: Sprout[]; notes: WhyNote[] }> {
  const { runs, isCut } = await readersOf(rows, written)
  const text = 'runs that read it long ago are not told: only the newest were looked through'
  return {
    sprouts: await Promise.all(runs.map((run) => runSprout(rows, run, 'read in'))),
    notes: isCut ? [{ topic: 'note', text, at: null }] : [],
  }
}

/**
 * What came of a thing: runs, results, plans, files, turns that heard of it; each with what came of that. Each is told
 * once, as near to the beginning as it can be.
 */
export async function whatCame(
  rows: Reading,
  { kind, id }: { kind: WhyKind; id: string },
  nearest?: Sprout[],
): Promise<NonNullable<WhyView['forward']>> {
  const root = { kind, id, came: [] as Came[], leftOut: 0 }
  const seen = new Set([`${kind}:${id}`])
  let told = 0
  let level: (typeof root)[] = [root]
  for (let depth = 1; level.length > 0; depth++) {
    const next: typeof level = []
    for (const each of level) {
      const sprouts = depth === 1 && nearest ? nearest : await sproutsOf(rows, each)
      const fresh = sprouts.filter((sprout) => !seen.has(`${sprout.kind}:${sprout.id}`))
      const room = depth > deepest ? 0 : Math.max(0, Math.min(widest, mostInAll - told))
      for (const sprout of fresh.slice(0, room)) {
        const came: Came = { ...sprout, came: [], leftOut: 0 }
        seen.add(`${came.kind}:${came.id}`)
        each.came.push(came)
        next.push(came)
        told++
      }
      each.leftOut = fresh.length - each.came.length
    }
    level = next
  }
  return { came: root.came, leftOut: root.leftOut }
}

async function sproutsOf(rows: Reading, { kind, id }: Pick<Sprout, 'kind' | 'id'>): Promise<Sprout[]> {
  switch (kind) {
    case 'turn':
      return ofTurn(rows, id)
    case 'run':
      return ofRun(rows, id)
    case 'plan':
      return ofPlan(rows, Number(id))
    case 'task':
      return ofTask(rows, Number(id))
    case 'result':
      return ofResult(rows, Number(id))
    case 'approval':
      return ofApproval(rows, Number(id))
    case 'memory':
      return ofMemory(rows, Number(id))
    case 'narrative':
      return ofNarrative(rows, Number(id))
    default:
      return []
  }
}

/** All that its run began, and the later turns of the same request. */
async function ofTurn(rows: Reading, id: string): Promise<Sprout[]> {
  const runId = (await findTurn(rows, id))?.turn.runId
  const run = runId === undefined ? undefined : await findRun(rows, runId)
  if (!run) return []
  const later = run.id === run.rootRunId ? (await turnsOfRequest(rows, run)).filter((turn) => turn !== id) : []
  const turns = await Promise.all(later.map((turn) => turnSprout(rows, turn, 'went on in')))
  const telling = await narrativeSprouts(rows, await narrativesOfTurn(rows, id), 'told in')
  return [...(await ofRun(rows, run.id)).filter((came) => came.kind !== 'turn' || came.id !== id), ...turns, ...telling]
}

async function ofRun(rows: Reading, id: string): Promise<Sprout[]> {
  const run = await findRun(rows, id)
  if (!run) return []
  // What goes on in an agent's session after it heard from others is the same work.
  const children = [
    ...new Map((await childrenOf(rows, id)).reverse().map((child) => [child.sessionId, child])).values(),
  ]
  const result = await resultOf(rows, id)
  const isPlanner = run.requesterSessionId !== null && run.effectiveTools.includes('plan_tasks')
  const plans = isPlanner ? await listPlans(rows, { sessionId: run.requesterSessionId ?? '' }) : []
  const files = lastOfEach(await changesOf(rows, [id])).filter(({ undoneAt }) => undoneAt === null)
  const turnId = (await itemsOfRun(rows, id)).find(({ consumedByTurn }) => consumedByTurn !== null)?.consumedByTurn
  return [
    ...files.map(({ path, at }): Sprout => ({ kind: 'file', id: path, title: path, at: moment(at), how: 'wrote' })),
    ...plans
      .filter(({ plannedBy }) => plannedBy === id)
      .map(
        (plan): Sprout => ({
          kind: 'plan',
          id: `${plan.id}`,
          title: plan.title,
          at: moment(plan.createdAt),
          how: 'planned',
        }),
      ),
    ...(await Promise.all(children.reverse().map((child) => runSprout(rows, child, 'began')))),
    ...(result ? [resultSprout(result)] : []),
    ...(turnId && run.requesterSessionId === null ? [await turnSprout(rows, turnId, 'left')] : []),
    ...(await narrativeSprouts(rows, await narrativesBy(rows, id), 'told in')),
  ]
}

async function ofPlan(rows: Reading, id: number): Promise<Sprout[]> {
  return (await tasksOf(rows, id)).map((task) => taskSprout(task, task.status))
}

async function ofTask(rows: Reading, id: number): Promise<Sprout[]> {
  const runs = await runsOfTask(rows, id)
  return Promise.all(runs.map((run) => runSprout(rows, run, 'done in')))
}

/** Who heard of it, who was given it, and which tasks needed it. */
async function ofResult(rows: Reading, id: number): Promise<Sprout[]> {
  const result = await findResult(rows, id)
  const told = result && (await itemByKey(rows, `result:${result.runId}`))
  if (!result) return []
  const needing = result.taskId === null ? [] : await tasksAfter(rows, result.taskId)
  const tasks = await Promise.all(needing.map((task) => findTask(rows, task)))
  const pointing: Run[] = []
  for (const child of told?.runId ? await childrenOf(rows, told.runId) : [])
    if (child.taskId === null && (await givenTo(rows, child)).includes(id)) pointing.push(child)
  return [
    ...tasks.flatMap((task) => (task ? [taskSprout(task, 'used by')] : [])),
    ...(await Promise.all(pointing.map((run) => runSprout(rows, run, 'given to')))),
    ...(told?.consumedByTurn ? [await turnSprout(rows, told.consumedByTurn, 'heard in')] : []),
    ...(await memorySprouts(rows, result.memoryIds, 'kept as')),
  ]
}

/** What took its place, what tells of it, and who was reminded of it. */
async function ofMemory(rows: Reading, id: number): Promise<Sprout[]> {
  const memory = await findMemory(rows, id)
  if (!memory) return []
  const reminded = await Promise.all((await newestReminded(rows, id, mostReminded)).map((run) => findRun(rows, run)))
  return [
    ...(memory.supersededBy === null ? [] : await memorySprouts(rows, [memory.supersededBy], 'replaced by')),
    ...(await narrativeSprouts(rows, await citingFrom(rows, id, memory.narrativeId), 'told in')),
    ...(await Promise.all(reminded.flatMap((run) => (run ? [runSprout(rows, run, 'recalled in')] : [])))),
  ]
}

/** Those that go on from it, and the requests that began with it. */
async function ofNarrative(rows: Reading, id: number): Promise<Sprout[]> {
  const begun = await Promise.all((await newestBegunWith(rows, id, mostReminded)).map((run) => findRun(rows, run)))
  return [
    ...(await narrativeSprouts(rows, await narrativesAfter(rows, id), 'went on in')),
    ...(await Promise.all(begun.flatMap((run) => (run ? [runSprout(rows, run, 'begun with')] : [])))),
  ]
}

async function ofApproval(rows: Reading, id: number): Promise<Sprout[]> {
  const approval = await findApproval(rows, id)
  if (!approval) return []
  const files = (await changesOf(rows, [approval.runId])).filter(({ callId }) => callId === approval.callId)
  const run = await findRun(rows, approval.runId)
  return [
    ...files.map(({ path, at }): Sprout => ({ kind: 'file', id: path, title: path, at: moment(at), how: 'wrote' })),
    ...(run ? [await runSprout(rows, run, 'let go on')] : []),
  ]
}

async function runSprout(rows: Reading, run: Run, how: string): Promise<Sprout> {
  const asked = (await inputsOf(rows, run)).map(({ content }) => content).join(' ')
  const agent = run.agent !== null && { agent: run.agent }
  return { kind: 'run', id: run.id, title: preview(asked), at: moment(run.createdAt), how, ...agent }
}

async function memorySprouts(rows: Reading, ids: readonly number[], how: string): Promise<Sprout[]> {
  const found = await Promise.all(ids.map((id) => findMemory(rows, id)))
  return found.flatMap((memory) => {
    if (!memory) return []
    const title = memory.forgottenAt === null ? preview(memory.content) : 'forgotten'
    return [{ kind: 'memory' as const, id: `${memory.id}`, title, at: moment(memory.createdAt), how }]
  })
}

async function narrativeSprouts(rows: Reading, ids: readonly number[], how: string): Promise<Sprout[]> {
  const found = await Promise.all(ids.map((id) => findNarrative(rows, id)))
  return found.flatMap((narrative) => {
    if (!narrative) return []
    const { id, summary, createdAt } = narrative
    return [{ kind: 'narrative' as const, id: `${id}`, title: preview(summary), at: moment(createdAt), how }]
  })
}

async function turnSprout(rows: Reading, id: string, how: string): Promise<Sprout> {
  const turn = (await findTurn(rows, id))?.turn
  if (!turn) return { kind: 'turn', id, title: 'this turn is not kept any more', at: null, how, missing: true }
  return { kind: 'turn', id, title: preview(turn.responseMessage.content), at: moment(turn.timestamp), how }
}

function resultSprout(result: { id: number; summary: string; createdAt: number; skillUsed: string | null }): Sprout {
  const { id, summary, createdAt, skillUsed } = result
  const agent = skillUsed !== null && { agent: skillUsed }
  return { kind: 'result', id: `${id}`, title: summary, at: moment(createdAt), how: 'came to', ...agent }
}

function taskSprout(task: { id: number; title: string; createdAt: number; skill: string }, how: string): Sprout {
  return { kind: 'task', id: `${task.id}`, title: task.title, at: moment(task.createdAt), how, agent: task.skill }
}
