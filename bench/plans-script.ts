import type { Model, ModelReply, ModelRequest, RequestedCall } from '../src/domain/model.ts'
import { type Sent, tokensIn } from './tokens.ts'

/** A task as the script's planner plans it, and as a peer's coordinator hands it out. */
export interface ScriptedTask {
  key: string
  title: string
  needs: string[]
}

/** What everybody who is measured with a plan is told, and answers. */
export interface PlanScript {
  goal: string
  tasks: ScriptedTask[]
  /** What an agent answers. */
  output: string
  /** What the coordinator says in the end. */
  answer: string
}

export const goal = 'Compare the four ways to store sessions and write the report with measurements.'

/** Layers, each of which needs everything in the layer before. */
export function layered(sizes: readonly number[]): ScriptedTask[] {
  const layers = sizes.map((size, layer) =>
    Array.from({ length: size }, (_, at) => ({
      key: `t${layer + 1}-${at + 1}`,
      title: `Measure and describe part ${at + 1} of step ${layer + 1}`,
    })),
  )
  return layers.flatMap((tasks, layer) =>
    tasks.map((task) => ({ ...task, needs: (layers[layer - 1] ?? []).map(({ key }) => key) })),
  )
}

/** An output of so many characters whose first paragraph is longer than any summary may be: the worst case. */
export function outputOf(characters: number): string {
  return 'The measurement shows that each thread keeps its own path and the cloth comes out whole. '
    .repeat(Math.ceil(characters / 80))
    .slice(0, characters)
}

/** A model that plays every role of a plan at once: no time passes in it, and nothing is left to chance. */
export interface PlayedModel extends Model {
  /** Tokens of each request that was made for the coordinator, in their order. */
  readonly coordinator: number[]
}

export interface PlayedBy {
  /** Waits for whatever a benchmark wants to hold an agent's answer up with. */
  beforeAnswer?(request: ModelRequest): Promise<void>
  /** Has a plan made some other way: answers its number. Nobody researches or plans then. */
  plan?(request: ModelRequest): Promise<number>
  /** The coordinator starts its plan now. */
  onStart?(): void
}

export function playedModel(script: PlanScript, { beforeAnswer, plan, onStart }: PlayedBy = {}): PlayedModel {
  const coordinator: number[] = []
  const play = async (request: ModelRequest): Promise<ModelReply> => {
    if (request.tools.some(({ name }) => name === 'run_project')) {
      coordinator.push(tokensIn(sentFor(request)))
      const calls = coordinate(request, script, plan && (await plan(request)))
      if (calls.some(({ name }) => name === 'run_project')) onStart?.()
      return replied(calls.length === 0 ? script.answer : 'I have it done, and tell you when it is.', calls)
    }
    const isPlanner = request.tools.some(({ name }) => name === 'plan_tasks')
    if (isPlanner && request.messages.length === 1) return replied('', [planCall(script)])
    await beforeAnswer?.(request)
    return replied(script.output)
  }
  return { name: 'played', window: 200_000_000, price: { input: 1, output: 1 }, coordinator, reply: play }
}

/** Research, then a plan, then its tasks, then the answer: each begun with one reply, which ends the turn. */
function coordinate({ messages }: ModelRequest, { goal }: PlanScript, planned: number | undefined): RequestedCall[] {
  const said = messages.map(({ content }) => content)
  const last = said.at(-1) ?? ''
  if (/^plan:\d+ /.test(last)) return []
  const plan = planned ?? /\[plan:(\d+), \d+ tasks\]/.exec(said.join('\n'))?.[1]
  if (plan !== undefined) return andWait('run_project', { project_id: Number(plan) })
  const found = /\[agent_result:\d+\]/.exec(said.join('\n'))?.[0]
  return found
    ? andWait('spawn_agent', { skill: 'project-planner', task: goal, context: `What was found: ${found}` })
    : andWait('spawn_agent', { skill: 'researcher', task: `Find out what is known: ${goal}` })
}

function andWait(name: string, input: object): RequestedCall[] {
  return [
    { id: 'call-1', name, input },
    { id: 'call-2', name: 'wait', input: {} },
  ]
}

function planCall({ goal, tasks }: PlanScript): RequestedCall {
  const planned = tasks.map(({ key, title, needs }) => ({
    key,
    title,
    context: briefOf(title),
    skill: 'researcher',
    depends_on: needs,
  }))
  return { id: 'call-1', name: 'plan_tasks', input: { project: { title: 'Sessions compared', goal }, tasks: planned } }
}

export function briefOf(title: string): string {
  return `What to do: ${title}.\nWhat was found: four ways are known, none is measured.\nDone when a number is given.`
}

export function sentFor({ system, messages, tools, note = '' }: ModelRequest): Sent {
  return {
    system: `${system}${note}`,
    messages: messages.map((message) => ({
      content: message.content,
      calls: message.role === 'assistant' ? message.calls.map(({ name, input }) => ({ name, input })) : [],
    })),
    tools: tools.map(({ name, description, inputSchema }) => ({ name, description, schema: inputSchema })),
  }
}

function replied(text: string, calls: RequestedCall[] = []): ModelReply {
  return {
    text,
    calls,
    finish: calls.length > 0 ? 'calls' : 'stop',
    // It costs something, so that the day's budget is looked at as with models that people pay for.
    usage: { inputTokens: 100, outputTokens: 100, cachedTokens: 0, costUsd: 0.0002 },
    model: 'played',
  }
}
