import type { App } from '../api/app.ts'
import type { Heddle } from '../api/heddle.ts'
import type { PlanView, TaskView } from '../api/views/plan.ts'
import type { RequestAnswer } from '../api/views/question.ts'
import type { ToolCall } from '../domain/turn.ts'
import type { PlannedTask } from './evidence.ts'

/** Tools that are harmless in a temporary folder with sandboxed commands. */
const harmless = ['write_file', 'edit_file', 'exec']

/** A task for an agent, and the signal that stops it. */
interface AgentTask {
  folder: string
  agent: string
  task: string
  model: string
  signal: AbortSignal
}

/** Gives an agent its task and waits for the outcome; cancels the run on abort. */
export async function askAgent(
  heddle: Heddle,
  app: App,
  { folder, agent, task, model, signal }: AgentTask,
): Promise<RequestAnswer> {
  const { itemId, session } = await app.submit(folder, { session: 'main', content: task, agent, model })
  const work = await heddle.work({ folder, session })
  try {
    for (;;) {
      const now = await app.answer(folder, itemId, signal)
      if (now.status !== 'waiting') return now
      if (signal.aborted) {
        if (now.runId !== null) await app.cancel(now.runId, 'the test was stopped')
        return await app.answer(folder, itemId, new AbortController().signal)
      }
      await answerApprovals(app)
    }
  } finally {
    await work.stop()
  }
}

/** Answers approvals without a user: yes for harmless tools, no for all others. */
async function answerApprovals(app: App): Promise<void> {
  for (const { id, tool, hash } of await app.approvals()) {
    const isHarmless = harmless.includes(tool)
    const decision = isHarmless
      ? { answer: 'once' as const, hash }
      : { answer: 'no' as const, reason: 'there is no one to ask' }
    await app.decide(`approval:${id}`, decision)
  }
}

/** All tool calls in the turns of an answer. */
export async function callsOf(
  app: App,
  { folder, turns }: Pick<RequestAnswer, 'folder' | 'turns'>,
): Promise<ToolCall[]> {
  const calls: ToolCall[] = []
  for (const id of turns) {
    const turn = await app.show(folder, `turn:${id}`)
    if (turn.kind === 'turn') calls.push(...turn.toolCalls)
  }
  return calls
}

/** Tasks of each plan of a folder that is not cancelled, with their briefs. */
export async function plansIn(app: App, folder: string): Promise<PlannedTask[][]> {
  const plans = (await app.plans({ folder })).filter(({ status }) => status !== 'cancelled')
  return Promise.all(
    plans.map(async ({ id }) => {
      const { tasks } = (await app.show(folder, `plan:${id}`)) as PlanView
      const currentTasks = tasks.filter(({ status }) => status !== 'cancelled')
      return Promise.all(
        currentTasks.map(async (task) => {
          const { context } = (await app.show(folder, `task:${task.id}`)) as TaskView
          return { ...task, context }
        }),
      )
    }),
  )
}
