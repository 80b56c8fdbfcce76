import { z } from 'zod'
import type { CallContext, Tool, ToolOutcome } from '../../domain/tools/tool.ts'
import { findPlan, saveRunLabel } from '../../store/rows/plans.ts'
import { findTask, readyTasks } from '../../store/rows/tasks.ts'
import type { Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { profilesOfAgents, startableAgents } from '../policies/registered-agent.ts'
import { findSpawner, spawnChild, stoppingOutcome } from '../run/spawn.ts'
import type { Engine } from '../runtime.ts'
import { isPlanFor } from '../turns/ancestry.ts'
import { composeCallBrief } from './call-brief.ts'
import { beginTasks } from './dispatch.ts'
import { foreignPlanRefusal, refuseCall } from './plan-call.ts'

/** Max names in an error. */
const maxListed = 60

// One object for both kinds: providers refuse a schema that is a choice at its root.
const input = z
  .strictObject({
    task: z.string().trim().min(1).optional(),
    skill: z.string().min(1).optional().describe('name of the agent'),
    context: z.string().optional(),
    model: z.string().optional().describe('rarely needed'),
    task_id: z.int().positive().optional().describe('use alone, without the other parameters'),
  })
  .transform(({ task_id, ...work }, context) => {
    const { task, skill } = work
    if (task_id !== undefined && Object.keys(work).length === 0) return { task_id }
    if (task_id === undefined && task !== undefined && skill !== undefined) return { ...work, task, skill }
    context.addIssue('give either task and skill, or task_id alone')
    return z.NEVER
  })

/** Tool that starts an agent, on a task of a plan or on an ad-hoc one. The caller cannot choose the agent's tools. */
export function spawnAgent(engine: Engine): Tool<z.output<typeof input>> {
  return defineTool(input, {
    name: 'spawn_agent',
    startsAgent: true,
    description:
      'Starts an agent on one task; it sees only task and context. In both, [agent_result:ID] is replaced by that full ' +
      'result. Returns immediately; the result is delivered when the agent is done. Or pass only task_id to start a ' +
      'ready task of a plan.',
    effect: 'transactional',
    action: 'run.spawn',
    guarded: true,
    async write(transaction, value, call) {
      const tx = transaction as Tx
      if ('task_id' in value) return beginPlanTask(tx, engine, value.task_id, call)
      const spawner = await findSpawner(tx, call)
      if (!spawner) return stoppingOutcome
      const { task, skill, context, model } = value
      const name = skill.replace(/^@/, '')
      const known = await startableAgents(tx, engine, spawner.parentSession.folder, spawner.parent.ceiling)
      if (!known.includes(name))
        return refuseCall(`there is no agent "${name}"`, `there are: ${known.slice(0, maxListed).join(', ')}`)
      if (model !== undefined && !engine.knowsModel(model))
        return refuseCall(`there is no model "${model}"`, 'leave it out')
      const profile = (await profilesOfAgents(tx, engine.registry, [name])).get(name)
      const { folder } = spawner.parentSession
      const reader = { agent: name, folder, requestedModel: model ?? null, profile }
      const brief = await composeCallBrief(tx, engine, spawner.parentSession, { task, context, reader })
      if ('refusal' in brief) return brief.refusal
      return spawnChild(tx, engine, call, {
        ...{ ...brief, via: 'spawn_agent', agent: name, profile },
        ...(model !== undefined && { options: { model } }),
      })
    },
  })
}

/** Starts a task of a running plan. */
async function beginPlanTask(
  tx: Tx,
  engine: Engine,
  taskId: number,
  { runId, label }: Pick<CallContext, 'runId' | 'label'>,
): Promise<ToolOutcome> {
  const spawner = await findSpawner(tx, { runId })
  if (!spawner) return stoppingOutcome
  const task = await findTask(tx, taskId)
  const plan = task && (await findPlan(tx, task.planId))
  if (!task || !plan || !(await isPlanFor(tx, spawner.parentSession, plan)))
    return refuseCall(`there is no task ${taskId} here`, 'task_list')
  const elsewhere = await foreignPlanRefusal(tx, spawner.parentSession, plan)
  if (elsewhere) return elsewhere
  if (plan.status !== 'running') return refuseCall(`plan:${plan.id} is ${plan.status}`, 'start it with run_project')
  if (task.status !== 'pending')
    return refuseCall(`task:${taskId} is ${task.status}`, 'task_update retries, skips or cancels tasks')
  const ready = await readyTasks(tx, { planId: plan.id })
  if (!ready.some(({ id }) => id === taskId))
    return refuseCall(`task:${taskId} waits for ${task.dependsOn.map((id) => `task:${id}`).join(', ')}`, 'wait')
  if (label) await saveRunLabel(tx, runId, label)
  const now = { ...plan, startedBy: runId, rootRunId: spawner.parent.rootRunId }
  const [begun] = await beginTasks(tx, engine, now, { home: spawner.parentSession, tasks: [task] })
  return { status: 'ok', output: { status: 'accepted', run_id: begun?.run.id, session_key: begun?.session.label } }
}
