import type { Answered, App } from '../domain/app.ts'
import type { PlanView, TaskView } from '../domain/plan-views.ts'
import type { ToolCall } from '../domain/turn.ts'
import type { PlannedTask } from './evidence.ts'

/** Tools that cannot do harm in a folder that is thrown away, with commands that are confined. */
const harmless = ['write_file', 'edit_file', 'exec']

/** What an agent is asked, and what ends the waiting. */
export interface Asking {
  folder: string
  agent: string
  task: string
  model: string
  until: AbortSignal
}

/** Gives an agent its task and waits for the end, whatever that is; when the signal comes, the run is cancelled. */
export async function askAgent(app: App, { folder, agent, task, model, until }: Asking): Promise<Answered> {
  const { itemId, session } = await app.submit(folder, { session: 'main', content: task, agent, model })
  const work = await app.work({ folder, session })
  try {
    for (;;) {
      const now = await app.answer(folder, itemId, until)
      if (now.status !== 'waiting') return now
      if (until.aborted) {
        if (now.runId !== null) await app.cancel(now.runId, 'the test was stopped')
        return await app.answer(folder, itemId, new AbortController().signal)
      }
      await decideAlone(app)
    }
  } finally {
    await work.stop()
  }
}

/** Nobody is there to be asked: an agent whose own file wants questions gets the answer that the folder allows. */
async function decideAlone(app: App): Promise<void> {
  for (const { id, tool, hash } of await app.approvals()) {
    const isHarmless = harmless.includes(tool)
    const said = isHarmless
      ? { answer: 'once' as const, hash }
      : { answer: 'no' as const, reason: 'nobody can be asked' }
    await app.decide(`approval:${id}`, said)
  }
}

/** Every tool call that the turns of an answer tell of. */
export async function callsOf(app: App, { folder, turns }: Pick<Answered, 'folder' | 'turns'>): Promise<ToolCall[]> {
  const calls: ToolCall[] = []
  for (const id of turns) {
    const turn = await app.show(folder, `turn:${id}`)
    if (turn.kind === 'turn') calls.push(...turn.toolCalls)
  }
  return calls
}

/** The tasks of each plan of a folder that still counts, briefs included. */
export async function plansIn(app: App, folder: string): Promise<PlannedTask[][]> {
  const plans = (await app.plans({ folder })).filter(({ status }) => status !== 'cancelled')
  return Promise.all(
    plans.map(async ({ id }) => {
      const { tasks } = (await app.show(folder, `plan:${id}`)) as PlanView
      const counting = tasks.filter(({ status }) => status !== 'cancelled')
      return Promise.all(
        counting.map(async (task) => {
          const { context } = (await app.show(folder, `task:${task.id}`)) as TaskView
          return { ...task, context }
        }),
      )
    }),
  )
}
