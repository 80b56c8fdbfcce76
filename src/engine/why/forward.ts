import type { Consequence, WhyKind, WhyNote, WhyView } from '../../api/views/why.ts'
import type { Run } from '../../domain/run.ts'
import { shownNarrative } from '../../memory/shown-narrative.ts'
import { findMemory } from '../../store/knowledge/memories.ts'
import { newestRunsRecallingMemory } from '../../store/knowledge/memory-recalls.ts'
import {
  narrativesAfter,
  narrativesBy,
  narrativesCitingSince,
  narrativesOfTurn,
  newestRunsRecallingNarrative,
} from '../../store/knowledge/narrative-chain.ts'
import { narrativesOfTask } from '../../store/knowledge/narrative-tasks.ts'
import { findNarrative } from '../../store/knowledge/narratives.ts'
import { findApproval } from '../../store/rows/approvals.ts'
import { childrenOf } from '../../store/rows/child-runs.ts'
import { changesOf } from '../../store/rows/file-changes.ts'
import { itemByKey, itemsOfRun } from '../../store/rows/inbox.ts'
import { listPlans } from '../../store/rows/plans.ts'
import { runsOfTask, tasksAfter } from '../../store/rows/provenance.ts'
import { turnsOfRequest } from '../../store/rows/requests.ts'
import { findResult, resultOf } from '../../store/rows/results.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findTask, tasksOf } from '../../store/rows/tasks.ts'
import { findTurn } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import { lastChanges } from '../files/artifacts.ts'
import { inputsOf } from '../run/run-inputs.ts'
import { preview } from '../turns/history.ts'
import { moment } from './chain.ts'
import type { FileWrite } from './file.ts'
import { readersOf } from './file-readers.ts'
import { resultsGivenTo } from './given-results.ts'

/** Limits of the tree; the rest is counted. */
const maxDepth = 6
const maxWidth = 12
const maxTotal = 120
const maxRecallingRuns = 50

/** A thing that followed from another, without its own consequences. */
type ForwardLink = Omit<Consequence, 'came' | 'leftOut'>

/** Runs that read a file after it was written. */
export async function consequencesOfFile(
  rows: Reading,
  written: FileWrite,
): Promise<{ links: ForwardLink[]; notes: WhyNote[] }> {
  const { runs, isCut } = await readersOf(rows, written)
  const text = 'older runs that read it are not shown: only the newest were searched'
  return {
    links: await Promise.all(runs.map((run) => runLink(rows, run, 'read in'))),
    notes: isCut ? [{ topic: 'note', text, at: null }] : [],
  }
}

/**
 * Walks forward from a thing to what followed from it: runs, results, plans, files, turns. Each thing appears once, as near
 * to the start as possible.
 */
export async function walkForward(
  rows: Reading,
  { kind, id }: { kind: WhyKind; id: string },
  nearest?: ForwardLink[],
): Promise<NonNullable<WhyView['forward']>> {
  const root = { kind, id, came: [] as Consequence[], leftOut: 0 }
  const seen = new Set([`${kind}:${id}`])
  let total = 0
  let level: (typeof root)[] = [root]
  for (let depth = 1; level.length > 0; depth++) {
    const next: typeof level = []
    for (const each of level) {
      const links = depth === 1 && nearest ? nearest : await consequencesOf(rows, each)
      const newLinks = links.filter((link) => !seen.has(`${link.kind}:${link.id}`))
      const room = depth > maxDepth ? 0 : Math.max(0, Math.min(maxWidth, maxTotal - total))
      for (const link of newLinks.slice(0, room)) {
        const came: Consequence = { ...link, came: [], leftOut: 0 }
        seen.add(`${came.kind}:${came.id}`)
        each.came.push(came)
        next.push(came)
        total++
      }
      each.leftOut = newLinks.length - each.came.length
    }
    level = next
  }
  return { came: root.came, leftOut: root.leftOut }
}

async function consequencesOf(rows: Reading, { kind, id }: Pick<ForwardLink, 'kind' | 'id'>): Promise<ForwardLink[]> {
  switch (kind) {
    case 'turn':
      return consequencesOfTurn(rows, id)
    case 'run':
      return consequencesOfRun(rows, id)
    case 'plan':
      return consequencesOfPlan(rows, Number(id))
    case 'task':
      return consequencesOfTask(rows, Number(id))
    case 'result':
      return consequencesOfResult(rows, Number(id))
    case 'approval':
      return consequencesOfApproval(rows, Number(id))
    case 'memory':
      return consequencesOfMemory(rows, Number(id))
    case 'narrative':
      return consequencesOfNarrative(rows, Number(id))
    default:
      return []
  }
}

/** Everything its run started, and later turns of the same request. */
async function consequencesOfTurn(rows: Reading, id: string): Promise<ForwardLink[]> {
  const runId = (await findTurn(rows, id))?.turn.runId
  const run = runId === undefined ? undefined : await findRun(rows, runId)
  if (!run) return []
  const later = run.id === run.rootRunId ? (await turnsOfRequest(rows, run)).filter((turn) => turn !== id) : []
  const turns = await Promise.all(later.map((turn) => turnLink(rows, turn, 'went on in')))
  const narratives = await narrativeLinks(rows, await narrativesOfTurn(rows, id), 'told in')
  return [
    ...(await consequencesOfRun(rows, run.id)).filter((came) => came.kind !== 'turn' || came.id !== id),
    ...turns,
    ...narratives,
  ]
}

async function consequencesOfRun(rows: Reading, id: string): Promise<ForwardLink[]> {
  const run = await findRun(rows, id)
  if (!run) return []
  // Later runs in a child's session continue the same work: one link per session.
  const children = [
    ...new Map((await childrenOf(rows, id)).reverse().map((child) => [child.sessionId, child])).values(),
  ]
  const result = await resultOf(rows, id)
  const isPlanner = run.requesterSessionId !== null && run.effectiveTools.includes('plan_tasks')
  const plans = isPlanner ? await listPlans(rows, { sessionId: run.requesterSessionId ?? '' }) : []
  const files = lastChanges(await changesOf(rows, [id])).filter(({ undoneAt }) => undoneAt === null)
  const turnId = (await itemsOfRun(rows, id)).find(({ consumedByTurn }) => consumedByTurn !== null)?.consumedByTurn
  return [
    ...files.map(
      ({ path, at }): ForwardLink => ({ kind: 'file', id: path, title: path, at: moment(at), how: 'wrote' }),
    ),
    ...plans
      .filter(({ plannedBy }) => plannedBy === id)
      .map(
        (plan): ForwardLink => ({
          kind: 'plan',
          id: `${plan.id}`,
          title: plan.title,
          at: moment(plan.createdAt),
          how: 'planned',
        }),
      ),
    ...(await Promise.all(children.reverse().map((child) => runLink(rows, child, 'began')))),
    ...(result ? [resultLink(result)] : []),
    ...(turnId && run.requesterSessionId === null ? [await turnLink(rows, turnId, 'left')] : []),
    ...(await narrativeLinks(rows, await narrativesBy(rows, id), 'told in')),
  ]
}

async function consequencesOfPlan(rows: Reading, id: number): Promise<ForwardLink[]> {
  return (await tasksOf(rows, id)).map((task) => taskLink(task, task.status))
}

async function consequencesOfTask(rows: Reading, id: number): Promise<ForwardLink[]> {
  const runs = await runsOfTask(rows, id)
  return [
    ...(await Promise.all(runs.map((run) => runLink(rows, run, 'done in')))),
    ...(await narrativeLinks(rows, await narrativesOfTask(rows, id), 'told in')),
  ]
}

/** Turns it was delivered to, runs it was given to, and tasks that needed it. */
async function consequencesOfResult(rows: Reading, id: number): Promise<ForwardLink[]> {
  const result = await findResult(rows, id)
  const delivery = result && (await itemByKey(rows, `result:${result.runId}`))
  if (!result) return []
  const dependents = result.taskId === null ? [] : await tasksAfter(rows, result.taskId)
  const tasks = await Promise.all(dependents.map((task) => findTask(rows, task)))
  const pointingRuns: Run[] = []
  for (const child of delivery?.runId ? await childrenOf(rows, delivery.runId) : [])
    if (child.taskId === null && (await resultsGivenTo(rows, child)).includes(id)) pointingRuns.push(child)
  return [
    ...tasks.flatMap((task) => (task ? [taskLink(task, 'used by')] : [])),
    ...(await Promise.all(pointingRuns.map((run) => runLink(rows, run, 'given to')))),
    ...(delivery?.consumedByTurn ? [await turnLink(rows, delivery.consumedByTurn, 'heard in')] : []),
    ...(await memoryLinks(rows, result.memoryIds, 'kept as')),
  ]
}

/** Its replacement, narratives that cite it, and runs that recalled it. */
async function consequencesOfMemory(rows: Reading, id: number): Promise<ForwardLink[]> {
  const memory = await findMemory(rows, id)
  if (!memory) return []
  const recallingRuns = await Promise.all(
    (await newestRunsRecallingMemory(rows, id, maxRecallingRuns)).map((run) => findRun(rows, run)),
  )
  return [
    ...(memory.supersededBy === null ? [] : await memoryLinks(rows, [memory.supersededBy], 'replaced by')),
    ...(await narrativeLinks(rows, await narrativesCitingSince(rows, id, memory.narrativeId), 'told in')),
    ...(await Promise.all(recallingRuns.flatMap((run) => (run ? [runLink(rows, run, 'recalled in')] : [])))),
  ]
}

/** Narratives that continue it, and runs that began with it. */
async function consequencesOfNarrative(rows: Reading, id: number): Promise<ForwardLink[]> {
  const runs = await Promise.all(
    (await newestRunsRecallingNarrative(rows, id, maxRecallingRuns)).map((run) => findRun(rows, run)),
  )
  return [
    ...(await narrativeLinks(rows, await narrativesAfter(rows, id), 'went on in')),
    ...(await Promise.all(runs.flatMap((run) => (run ? [runLink(rows, run, 'begun with')] : [])))),
  ]
}

async function consequencesOfApproval(rows: Reading, id: number): Promise<ForwardLink[]> {
  const approval = await findApproval(rows, id)
  if (!approval) return []
  const files = (await changesOf(rows, [approval.runId])).filter(({ callId }) => callId === approval.callId)
  const run = await findRun(rows, approval.runId)
  return [
    ...files.map(
      ({ path, at }): ForwardLink => ({ kind: 'file', id: path, title: path, at: moment(at), how: 'wrote' }),
    ),
    ...(run ? [await runLink(rows, run, 'let go on')] : []),
  ]
}

async function runLink(rows: Reading, run: Run, how: string): Promise<ForwardLink> {
  const input = (await inputsOf(rows, run)).map(({ content }) => content).join(' ')
  const agent = run.agent !== null && { agent: run.agent }
  return { kind: 'run', id: run.id, title: preview(input), at: moment(run.createdAt), how, ...agent }
}

async function memoryLinks(rows: Reading, ids: readonly number[], how: string): Promise<ForwardLink[]> {
  const found = await Promise.all(ids.map((id) => findMemory(rows, id)))
  return found.flatMap((memory) => {
    if (!memory) return []
    const title = memory.forgottenAt === null ? preview(memory.content) : 'forgotten'
    return [{ kind: 'memory' as const, id: `${memory.id}`, title, at: moment(memory.createdAt), how }]
  })
}

async function narrativeLinks(rows: Reading, ids: readonly number[], how: string): Promise<ForwardLink[]> {
  const links: ForwardLink[] = []
  for (const id of ids) {
    const narrative = await findNarrative(rows, id)
    if (!narrative) continue
    const { summary, createdAt } = await shownNarrative(rows, narrative)
    links.push({ kind: 'narrative', id: `${id}`, title: preview(summary), at: moment(createdAt), how })
  }
  return links
}

async function turnLink(rows: Reading, id: string, how: string): Promise<ForwardLink> {
  const turn = (await findTurn(rows, id))?.turn
  if (!turn) return { kind: 'turn', id, title: 'this turn is no longer stored', at: null, how, missing: true }
  return { kind: 'turn', id, title: preview(turn.responseMessage.content), at: moment(turn.timestamp), how }
}

function resultLink(result: { id: number; summary: string; createdAt: number; skillUsed: string | null }): ForwardLink {
  const { id, summary, createdAt, skillUsed } = result
  const agent = skillUsed !== null && { agent: skillUsed }
  return { kind: 'result', id: `${id}`, title: summary, at: moment(createdAt), how: 'came to', ...agent }
}

function taskLink(task: { id: number; title: string; createdAt: number; skill: string }, how: string): ForwardLink {
  return { kind: 'task', id: `${task.id}`, title: task.title, at: moment(task.createdAt), how, agent: task.skill }
}
