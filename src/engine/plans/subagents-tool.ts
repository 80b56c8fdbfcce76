import { z } from 'zod'
import { shortId } from '../../domain/id.ts'
import type { CallContext, Tool, ToolOutcome } from '../../domain/tools/tool.ts'
import { findRun } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { type SubagentRecord, subagentTree } from '../../store/rows/subagents/subagents.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { profilesOfAgents } from '../policies/registered-agent.ts'
import { cancel } from '../run/cancel.ts'
import { childModel } from '../run/spawn.ts'
import { steerChild } from '../run/steer-child.ts'
import type { Engine } from '../runtime.ts'
import { findCaller, refuseCall } from './plan-call.ts'
import { type SubagentSettings, subagentTargets } from './subagent-targets.ts'

const defaultMinutes = 30
/** Fewer characters of an id would be taken for a number or a label. */
const minIdPart = 4

const input = () =>
  z.strictObject({
    action: z.enum(['list', 'kill', 'kill_all', 'steer']),
    target: z.string().min(1).max(200).optional().describe('run id, label, session key, "last", or a number of list'),
    input: z.string().trim().min(1).optional().describe('steer: what to tell it'),
    recentMinutes: z
      .int()
      .min(0)
      .max(100_000)
      .default(defaultMinutes)
      .describe('also list those that ended since then'),
  })

/** Tool that lists, stops and steers the sub-agents of the calling session and theirs, and no others. */
export function subagentsTool(engine: Engine): Tool<z.output<ReturnType<typeof input>>> {
  return defineTool(input, {
    name: 'subagents',
    description:
      'Lists, stops (kill, kill_all) or steers the sub-agents that you spawned, and theirs. Steering reaches one at its ' +
      'next step. Read the result of one that has ended with read_result.',
    effect: 'idempotent',
    action: 'run.spawn',
    async run({ action, target, input: words, recentMinutes }, call) {
      if (action === 'kill_all') return kill(engine, await ownTree(engine, call))
      const since = engine.clock.now() - recentMinutes * 60_000
      const listed = await ownTree(engine, call, { since })
      if (action === 'list') return { status: 'ok', output: { subagents: listed.map(line) } }
      if (target === undefined) return refuseCall(`${action} needs a target`, 'give one that list shows')
      const found = matchSubagents(listed, target)
      if (!found)
        return refuseCall(
          `you have no sub-agent "${target}" that works or ended in the last ${recentMinutes} minutes`,
          'list shows yours; recentMinutes looks further back',
        )
      if (Array.isArray(found))
        return refuseCall(`"${target}" fits ${found.map(({ runId }) => shortId(runId)).join(', ')}`, 'give a run id')
      if (action === 'kill') return kill(engine, [found, ...(await below(engine, found))])
      if (words === undefined) return refuseCall('steer needs an input', 'say what it should do')
      return steer(engine, found, words, call)
    },
  })
}

/**
 * Sub-agents of the calling run's session and all below them that work, or also ended since a moment, by their rows: what a
 * key looks like gives no right.
 */
function ownTree(
  { store }: Engine,
  { runId }: Pick<CallContext, 'runId'>,
  which: { since?: number } = {},
): Promise<SubagentRecord[]> {
  return store.read(async (rows) => {
    const run = await findRun(rows, runId)
    return run?.sessionId ? subagentTree(rows, run.sessionId, which) : []
  })
}

function below({ store }: Engine, { sessionId }: SubagentRecord): Promise<SubagentRecord[]> {
  return store.read((rows) => subagentTree(rows, sessionId))
}

function line({ runId, label, agent, sessionKey, model, result, ...record }: SubagentRecord, at: number) {
  return {
    number: at + 1,
    runId,
    label,
    status: subagentStatus(record, result),
    agentId: agent,
    sessionKey,
    ...(model !== null && { model }),
    startedAt: new Date(record.startedAt).toISOString(),
    ...(result && { resultId: result.id }),
  }
}

function subagentStatus(
  { isWorking, state }: Pick<SubagentRecord, 'isWorking' | 'state'>,
  result: SubagentRecord['result'],
) {
  return isWorking ? 'running' : (result?.status ?? state)
}

/** The sub-agent of a list that a text means, several if it fits several. */
function matchSubagents(listed: SubagentRecord[], target: string): SubagentRecord | SubagentRecord[] | undefined {
  const text = target.trim()
  const id = text.replace(/^run:/, '')
  const ids = ({ runId, lastRunId }: SubagentRecord) => [runId, lastRunId]
  const isId = (record: SubagentRecord) => ids(record).includes(id)
  const isPart = (record: SubagentRecord) =>
    id.length >= minIdPart && ids(record).some((each) => each.startsWith(id) || each.endsWith(id))
  const exact = listed.find((record) => isId(record) || record.sessionKey === text)
  if (exact) return exact
  if (text === 'last') return listed[0]
  if (/^\d{1,3}$/.test(text)) return listed[Number(text) - 1]
  const parts = listed.filter(isPart)
  const found =
    parts.length > 0 ? parts : listed.filter(({ label }) => label?.toLowerCase().startsWith(text.toLowerCase()))
  // A label that is used again means the one at work.
  const working = found.filter(({ isWorking }) => isWorking)
  const meant = working.length > 0 ? working : found
  return meant.length > 1 ? meant : meant[0]
}

/** Cancels those that work, each with everything below it. */
async function kill(engine: Engine, targets: readonly SubagentRecord[]): Promise<ToolOutcome> {
  const working = targets.filter(({ isWorking }) => isWorking)
  for (const { lastRunId } of working) await cancel(engine, lastRunId, 'killed by its requester')
  return { status: 'ok', output: { status: 'ok', killed: working.map(({ runId }) => runId) } }
}

async function steer(engine: Engine, target: SubagentRecord, content: string, call: CallContext): Promise<ToolOutcome> {
  const caller = await engine.store.read((rows) => findRun(rows, call.runId))
  const isHeard = caller && (await steerChild(engine, { sessionId: target.sessionId, content }, caller, call))
  return isHeard
    ? { status: 'ok', output: { status: 'ok', runId: target.runId } }
    : refuseCall(
        `"${target.label ?? shortId(target.runId)}" is not running`,
        'spawn another one with what you know now',
      )
}

/** Tool that lists the agents which `sessions_spawn` can start here, with the model of each. */
export function agentsList(engine: Engine, settings: SubagentSettings): Tool<object> {
  return defineTool(z.strictObject({}), {
    name: 'agents_list',
    description: 'Lists the agents that sessions_spawn can start (agentId), with the model that each runs on.',
    effect: 'pure',
    action: 'agent.list',
    run: (_, { runId }) =>
      engine.store.read(async (rows) => {
        const { run, home } = await findCaller(rows, runId)
        const [session = home] = await findSessions(rows, { id: run.sessionId ?? '' })
        const allowed = subagentTargets(engine, session.folder, run.ceiling, settings).filter(
          ({ isAllowed }) => isAllowed,
        )
        const names = allowed.map(({ agentId }) => agentId)
        const profiles = await profilesOfAgents(rows, engine.registry, names)
        const agents = []
        for (const { agentId, description, model } of allowed)
          agents.push({
            ...{ agentId, description },
            ...(await childModel(rows, engine, session, {
              agent: agentId,
              requested: model,
              allow: run.ceiling.models,
              profile: profiles.get(agentId),
            })),
          })
        return { status: 'ok', output: { agents } }
      }),
  })
}
