import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readAgent } from '../../src/agents/read-agent.ts'
import type { Agent } from '../../src/domain/agent.ts'
import { ModelFailure, type ModelMessage, type ModelReply } from '../../src/domain/model.ts'
import { findPlanProblems, type TaskDraft } from '../../src/domain/plan.ts'
import { listAgents } from '../../src/domain/profiles/agent-index.ts'
import { delegatingTools } from '../../src/domain/tools/tool-names.ts'
import { systemPrompt } from '../../src/engine/model/prompt.ts'
import { rehearsalModel } from '../../src/rehearsal/rehearsal.ts'
import { firstParagraph } from '../../src/store/rows/results.ts'
import { systemClock } from '../../src/system.ts'
import type { TestFolder } from '../tools/folder.ts'

const model = rehearsalModel({ clock: systemClock })
const place = join(import.meta.dirname, '../../agents')

/** The agents that come with the program. */
export const ourAgents: Agent[] = globSync('*.md', { cwd: place }).map((file) =>
  readAgent(readFileSync(join(place, file)), { path: join(place, file), source: 'built-in' }),
)

/** One request to the stand-in, as a provider would get it. */
export function ask(system: string, tools: readonly string[], messages: ModelMessage[]): Promise<ModelReply> {
  return model.reply(
    {
      id: 'run/1/1',
      system,
      messages,
      tools: tools.map((name) => ({ name, description: '', inputSchema: {} })),
      maxOutputTokens: 1000,
      signal: new AbortController().signal,
    },
    () => undefined,
  )
}

export const user = (content: string): ModelMessage => ({ role: 'user', content })
export const assistant = (content: string): ModelMessage => ({ role: 'assistant', content, calls: [] })

/** A reply of this turn, and what its calls were answered. */
export function made(calls: { name: string; input: unknown; answer: unknown }[]): ModelMessage[] {
  return [
    {
      role: 'assistant',
      content: 'REHEARSAL: so',
      calls: calls.map(({ name, input }, at) => ({ id: `r${at}`, name, input })),
    },
    ...calls.map(
      ({ name, answer }, at): ModelMessage => ({
        role: 'tool',
        callId: `r${at}`,
        name,
        content: JSON.stringify(answer),
      }),
    ),
  ]
}

export function agentNamed(name: string): Agent {
  const agent = ourAgents.find((each) => each.name === name)
  if (!agent) throw new Error(`there is no ${name}`)
  return agent
}

const common = { identity: null, isPrivate: true, files: [], profilePrompt: null, threadPrompt: null }

export function coordinatorPrompt(agents: readonly Agent[] = ourAgents): string {
  const tools = [...delegatingTools]
  return systemPrompt({
    ...common,
    role: { kind: 'coordinator' },
    isChild: false,
    tools,
    agents: listAgents([], agents),
  })
}

export function workerPrompt(agent: Agent, agents: readonly Agent[] = ourAgents): string {
  return systemPrompt({
    ...common,
    role: { kind: 'agent', agent: { ...agent, skills: [] } },
    isChild: true,
    tools: agent.tools,
    agents: listAgents([], agents),
  })
}

interface TroupeTask extends TaskDraft {
  id: number
  status: string
  resultId?: number
}

interface Result {
  id: number
  agent: string
  title?: string
  status: string
  output: string
}

/**
 * A coordinator and its agents around one folder: the smallest loop that speaks the runtime's formats, with real file
 * tools. Agents work one after the other.
 */
export class Troupe {
  readonly results: Result[] = []
  readonly tasks: TroupeTask[] = []
  /** Everything that was asked of the stand-in for the coordinator. */
  coordinatorRequests = 0
  readonly #folder: TestFolder
  readonly #agents: readonly Agent[]
  readonly #talk: ModelMessage[] = []
  readonly #answerPlan: (() => string | undefined)[]
  #plans = 0

  /** `noes`: what the user says to one plan after the other; a yes where there is nothing. */
  constructor(
    folder: TestFolder,
    { agents = ourAgents, noes = [] }: { agents?: readonly Agent[]; noes?: string[] } = {},
  ) {
    this.#folder = folder
    this.#agents = agents
    this.#answerPlan = noes.map((no) => () => no)
  }

  /** The last answer to what a person says, when everything is quiet again. */
  async say(text: string): Promise<string> {
    let inputs = [text]
    let answer = ''
    while (inputs.length > 0) {
      const woken = await this.#turn(inputs)
      answer = woken.answer
      inputs = woken.lines
    }
    return answer
  }

  async #turn(inputs: string[]): Promise<{ answer: string; lines: string[] }> {
    this.#talk.push(...inputs.map(user))
    const own: ModelMessage[] = []
    const begun: (() => Promise<string[]>)[] = []
    for (;;) {
      this.coordinatorRequests++
      const reply = await ask(coordinatorPrompt(this.#agents), delegatingTools, [...this.#talk, ...own])
      own.push({ role: 'assistant', content: reply.text, calls: reply.calls })
      let isRefused = false
      for (const { id, name, input } of reply.calls) {
        const answer = this.#delegated(name, input as Record<string, unknown>, begun)
        if ('error' in answer) isRefused = true
        own.push({ role: 'tool', callId: id, name, content: JSON.stringify(answer) })
      }
      const isWaiting = !isRefused && reply.calls.some(({ name }) => name === 'wait')
      if (reply.calls.length > 0 && !isWaiting) continue
      this.#talk.push(assistant(reply.text))
      const lines: string[] = []
      for (const work of begun) lines.push(...(await work()))
      return { answer: reply.text, lines }
    }
  }

  #delegated(name: string, input: Record<string, unknown>, begun: (() => Promise<string[]>)[]): object {
    if (name === 'spawn_agent') {
      begun.push(() => this.#spawned(String(input['skill']), String(input['task']), input['context'] as string))
      return { status: 'accepted', run_id: 'r', session_key: 's', model: 'rehearsal' }
    }
    if (name === 'run_project') {
      const no = this.#answerPlan.shift()?.()
      if (no !== undefined) return { status: 'denied', error: `the user said no: ${no}` }
      begun.push(() => this.#project())
      return { status: 'ok' }
    }
    if (name === 'task_list') return { tasks: this.tasks.map(({ id, title, status }) => ({ id, title, status })) }
    if (name === 'task_update') {
      const task = this.tasks.find(({ id }) => id === input['id'])
      if (!task) return { status: 'error', error: `there is no task:${String(input['id'])}` }
      const context = typeof input['context'] === 'string' ? input['context'] : task.context
      const problems = this.#findPlanProblems([{ ...task, context, dependsOn: [] }])
      if (problems.length > 0) return { status: 'error', error: problems.join('; ') }
      Object.assign(task, { context, status: input['action'] === 'retry' ? 'pending' : 'skipped' })
      for (const each of this.tasks) if (each.status === 'blocked') each.status = 'pending'
      begun.push(() => this.#project())
      return { status: 'ok' }
    }
    return { status: 'ok' }
  }

  async #spawned(skill: string, task: string, context?: string): Promise<string[]> {
    const brief = context === undefined ? '' : `\n\n## Brief\n${this.#resolved(context)}`
    const plansBefore = this.#plans
    const { id, status, output } = await this.#work(skill, `${task}${brief}`)
    const made = this.#plans > plansBefore ? ` [plan:1, ${this.tasks.length} tasks]` : ''
    return [
      `[agent_result:${id}] run:7k2f ${skill} ${status}: ${firstParagraph(output)}${made}`,
      'all started agents have ended; their results are above',
    ]
  }

  #resolved(context: string): string {
    return context.replace(/\[agent_result:(\d+)\]/g, (pointer, id) => {
      const result = this.results.find((each) => each.id === Number(id))
      return result
        ? `${pointer} @${result.agent} ${result.status}:\n${result.output}\n[end of agent_result:${id}]`
        : pointer
    })
  }

  async #project(): Promise<string[]> {
    const lines: string[] = []
    const byKey = (key: string) => this.tasks.find((task) => task.key === key)
    for (const task of this.tasks) {
      if (task.status !== 'pending') continue
      const before = task.dependsOn.flatMap((key) => byKey(key) ?? [])
      if (before.some(({ status }) => status === 'failed' || status === 'blocked')) {
        task.status = 'blocked'
        continue
      }
      const results = before.map(({ resultId, status, title }) => {
        const result = this.results.find(({ id }) => id === resultId)
        if (!result || status === 'skipped') return `### "${title}" was skipped`
        return `### [agent_result:${result.id}] @${result.agent} "${title}" ${result.status}\n${result.output}`
      })
      const section = before.length === 0 ? '' : `\n\n## Results of the tasks before\n${results.join('\n\n')}`
      const done = await this.#work(task.skill, `${task.title}\n\n## Brief\n${task.context}${section}`, task.title)
      task.status = done.status
      task.resultId = done.id
      lines.push(
        `[agent_result:${done.id}] task:${task.id} "${task.title}" ${done.status}: ${firstParagraph(done.output)}`,
      )
    }
    return [...lines, this.#planLine()]
  }

  #planLine(): string {
    const having = (status: string) => this.tasks.filter((task) => task.status === status).map(({ id }) => `task:${id}`)
    const [completed, failed, blocked, skipped] = ['completed', 'failed', 'blocked', 'skipped'].map(having)
    const left = skipped?.length ? `, ${skipped.length} skipped` : ''
    if (!failed?.length) return `plan:1 "the plan" completed: ${completed?.length} completed${left}`
    return `plan:1 "the plan" has stopped: ${completed?.length} completed, ${failed.length} failed (${failed.join(', ')}), ${blocked?.length} blocked (${blocked?.join(', ')}). Decide with task_update: retry (with context or skill), skip or cancel; or ask the user.`
  }

  async #work(skill: string, message: string, title?: string): Promise<Result> {
    const agent = this.#agents.find(({ name }) => name === skill)
    if (!agent) throw new Error(`there is no ${skill}`)
    const result: Result = { id: this.results.length + 1, agent: skill, status: 'completed', output: '' }
    if (title !== undefined) result.title = title
    try {
      result.output = await this.work(agent, message)
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error
      result.status = 'failed'
      result.output = `Failed: ${error.message}`
    }
    this.results.push(result)
    return result
  }

  /** What an agent delivers for a message. */
  async work(agent: Agent, message: string): Promise<string> {
    const messages: ModelMessage[] = [user(message)]
    for (let request = 0; request < 200; request++) {
      const reply = await ask(workerPrompt(agent, this.#agents), agent.tools, messages)
      if (reply.calls.length === 0) return reply.text
      messages.push({ role: 'assistant', content: reply.text, calls: reply.calls })
      for (const { id, name, input } of reply.calls) {
        const output =
          name === 'plan_tasks' ? this.#planned(input as PlanInput) : (await this.#folder.call(name, input)).output
        const content = typeof output === 'string' ? output : JSON.stringify(output)
        messages.push({ role: 'tool', callId: id, name, content })
      }
    }
    throw new Error(`@${agent.name} finds no end`)
  }

  #findPlanProblems(drafts: TaskDraft[]): string[] {
    const names = this.#agents.map(({ name }) => name)
    return findPlanProblems(drafts, { isAgent: (name) => names.includes(name), agents: names })
  }

  #planned({ tasks }: PlanInput): object {
    const drafts = tasks.map(({ depends_on, ...task }) => ({ ...task, dependsOn: depends_on }))
    const problems = this.#findPlanProblems(drafts)
    if (problems.length > 0) return { status: 'error', problems }
    this.#plans++
    // Ids begin where those of other plans end.
    this.tasks.splice(0, this.tasks.length, ...drafts.map((task, at) => ({ ...task, id: 11 + at, status: 'pending' })))
    return { project_id: 1, tasks: this.tasks.map(({ key, id }) => ({ key, id })) }
  }
}

interface PlanInput {
  project: { id?: number; title: string; goal?: string }
  tasks: (Omit<TaskDraft, 'dependsOn'> & { depends_on: string[] })[]
}
