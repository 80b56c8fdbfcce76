import { isNews, isUnreadable, type MediocreRequest } from './mediocre-request.ts'
import type { ProviderAnswer } from './provider-wire.ts'

const planner = 'project-planner'
const defaultTasks = 4

/** Default behaviour of every mediocre model. `workers` are the models that the tasks are named after. */
export function playDefault(request: MediocreRequest, workers: readonly string[]): ProviderAnswer {
  if (request.part === 'coordinator') return playCoordinator(request)
  return request.part === 'planner' ? makePlan(request, workers) : work(request)
}

/** Delegates the planning of a job, starts the plan and reports its results. */
function playCoordinator({ lastMessage, made }: MediocreRequest): ProviderAnswer {
  const done = made.filter((call) => call.name !== 'wait' && !isUnreadable(call))
  if (done.length > 0) return { text: `I was told: ${done.map(({ answer }) => answer).join(' ')}` }
  const [, plan] = /\[plan:(\d+), \d+ tasks\]/.exec(lastMessage) ?? []
  if (plan !== undefined) return callAndWait('The plan runs.', 'run_project', { project_id: Number(plan) })
  if (isNews(lastMessage)) return { text: `I was told: ${lastMessage}` }
  if (!/\btasks\b/.test(lastMessage)) return { text: `You said: ${lastMessage}` }
  return callAndWait('I have it planned.', 'spawn_agent', { task: lastMessage, skill: planner })
}

function callAndWait(text: string, name: string, input: object): ProviderAnswer {
  return { text, calls: [{ name, input }, { name: 'wait' }] }
}

function makePlan({ made, task, agents }: MediocreRequest, workers: readonly string[]): ProviderAnswer {
  const answer = made.findLast((call) => call.name === 'plan_tasks' && !isUnreadable(call))?.answer
  if (answer?.includes('project_id')) return { text: 'The plan is made.' }
  if (answer !== undefined) return { text: `The plan was refused: ${answer}` }
  return { calls: [{ name: 'plan_tasks', input: planFor(task, { agents, workers }) }] }
}

/** Makes one read-only call and reports it. */
function work({ made, task, tools }: MediocreRequest): ProviderAnswer {
  const done = made.find((call) => !isUnreadable(call))
  const tool = readOnlyCall(tools)
  if (!done && tool) return { calls: [tool] }
  const [title = ''] = task.split('\n')
  return { text: `${title} is done. ${done ? `I saw: ${done.answer.slice(0, 200)}` : 'I have no tools.'}` }
}

/** A read-only call of an available tool. */
export function readOnlyCall(tools: readonly string[]): { name: string; input: object } | undefined {
  if (tools.includes('list_dir')) return { name: 'list_dir', input: { path: '.' } }
  const name = tools.find((each) => each !== 'read_result')
  return name === undefined ? undefined : { name, input: {} }
}

/** Number of tasks that a goal asks for: "12 tasks". */
export function requestedTaskCount(goal: string): number {
  return Number(/\b(\d+) tasks\b/.exec(goal)?.[1] ?? defaultTasks)
}

/** Plan whose second half of tasks each depends on one of the first half. Titles name the worker. */
function planFor(goal: string, { agents, workers }: { agents: readonly string[]; workers: readonly string[] }) {
  const count = requestedTaskCount(goal)
  const half = Math.ceil(count / 2)
  const others = agents.filter((name) => name !== planner)
  const skill = others.includes('researcher') ? 'researcher' : (others[0] ?? 'researcher')
  return {
    project: { title: 'The parts' },
    tasks: Array.from({ length: count }, (_, at) => ({
      key: `part-${at + 1}`,
      title: `Part ${at + 1}${workers[at] ? ` by the ${workers[at]}` : ''}`,
      context: `Look at part ${at + 1}.\nSay what is there.`,
      skill,
      depends_on: at < half ? [] : [`part-${at - half + 1}`],
    })),
  }
}
