import { z } from 'zod'
import { joinLabels } from '../domain/label.ts'
import type { CallContext, Tool, ToolOutcome } from '../domain/tool.ts'
import { findPlan, keepLabel } from '../store/plans.ts'
import type { Tx } from '../store/store.ts'
import { findTask, readyTasks } from '../store/tasks.ts'
import { parsedBy } from '../tools/tool-input.ts'
import { isPlanFor } from './ancestry.ts'
import { beginTasks } from './dispatch.ts'
import { belongsElsewhere, refused } from './plan-call.ts'
import { resolvePointers } from './pointers.ts'
import { roomFor } from './room-for.ts'
import { beforeBrief, beginnerOf, spawnChild, stopping } from './spawn.ts'
import type { Engine } from './world.ts'

const input = z.union([
  z.strictObject({ task_id: z.int().positive() }),
  z.strictObject({
    task: z.string().trim().min(1),
    skill: z.string().min(1),
    context: z.string().optional(),
    model: z.string().optional(),
  }),
])

/** What spawning must know besides the rows. */
export interface SpawnSettings {
  knowsModel(name: string): boolean
}

/** Hands work to an agent: a task of a plan, or something that comes up. There is no way to choose its tools here. */
export function spawnAgent(engine: Engine, { knowsModel }: SpawnSettings): Tool<z.output<typeof input>> {
  return {
    name: 'spawn_agent',
    sink: 'agents',
    description:
      'Starts an agent on one task; it knows nothing but task and context. In both, [agent_result:ID] is replaced by ' +
      'that whole result. Answers at once; its result comes by itself. Or {task_id} for a ready task of a plan.',
    inputSchema: {
      type: 'object',
      properties: {
        task: { type: 'string' },
        skill: { type: 'string', description: 'name of the agent' },
        context: { type: 'string' },
        model: { type: 'string', description: 'seldom needed' },
        task_id: { type: 'integer', description: 'instead of all others' },
      },
      additionalProperties: false,
    },
    effect: 'transactional',
    guarded: true,
    parse: parsedBy(input),
    async write(transaction, value, call) {
      const tx = transaction as Tx
      if ('task_id' in value) return beginPlanned(tx, engine, value.task_id, call)
      const beginner = await beginnerOf(tx, call)
      if (!beginner) return stopping
      const { task, skill, context, model } = value
      const name = skill.replace(/^@/, '')
      const known = engine.agents.list(beginner.home.folder).map((agent) => agent.name)
      if (!known.includes(name)) return refused(`there is no agent "${name}"`, `there are: ${known.join(', ')}`)
      if (model !== undefined && !knowsModel(model)) return refused(`there is no model "${model}"`, 'leave it out')
      const text = context?.trim() ? `${task}${beforeBrief}${context}` : task
      const { folder } = beginner.home
      const room = roomFor(engine, { agent: name, folder, asked: model ?? null })
      const resolved = await resolvePointers(tx, text, beginner.home, room)
      if ('problems' in resolved) return refused(resolved.problems.join('; '), 'point to results you were told of')
      const label = joinLabels(resolved.labels)
      return spawnChild(tx, engine, call, { content: resolved.text, agent: name, model: model ?? null, label })
    },
  }
}

/** Begins a task of a plan that is carried out: its row has everything. */
async function beginPlanned(
  tx: Tx,
  engine: Engine,
  taskId: number,
  { runId, label }: Pick<CallContext, 'runId' | 'label'>,
): Promise<ToolOutcome> {
  const beginner = await beginnerOf(tx, { runId })
  if (!beginner) return stopping
  const task = await findTask(tx, taskId)
  const plan = task && (await findPlan(tx, task.planId))
  if (!task || !plan || !(await isPlanFor(tx, beginner.home, plan)))
    return refused(`there is no task ${taskId} here`, 'task_list')
  const elsewhere = await belongsElsewhere(tx, beginner.home, plan)
  if (elsewhere) return elsewhere
  if (plan.status !== 'running') return refused(`plan:${plan.id} is ${plan.status}`, 'start it with run_project')
  if (task.status !== 'pending')
    return refused(`task:${taskId} is ${task.status}`, 'task_update retries, skips or cancels tasks')
  const ready = await readyTasks(tx, { planId: plan.id })
  if (!ready.some(({ id }) => id === taskId))
    return refused(`task:${taskId} waits for ${task.dependsOn.map((id) => `task:${id}`).join(', ')}`, 'wait')
  if (label) await keepLabel(tx, runId, label)
  const now = { ...plan, startedBy: runId, rootRunId: beginner.parent.rootRunId }
  const [session] = await beginTasks(tx, engine, now, beginner.home, [task])
  const begun = await findTask(tx, taskId)
  return { status: 'ok', output: { status: 'accepted', run_id: begun?.runId, session_key: session?.label } }
}
