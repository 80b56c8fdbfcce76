import type { Agent } from '../../src/domain/agent.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { ModelRequest } from '../../src/domain/model.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../src/testing.ts'
import type { Database } from '../setup/places.ts'
import { newOffice, type Office, type OfficeOptions } from './test-team.ts'

/** What someone answers, by the newest message and the whole request. */
type Answers = (last: string, request: ModelRequest) => ScriptedReply

export interface SpawningOptions extends Pick<OfficeOptions, 'config' | 'tools' | 'clock' | 'window'> {
  agents?: Agent[]
  others?: ScriptedModel[]
  tools?: Tool[]
  clock?: Clock
}

/** An agent that works alone and starts sub-agents, over the real engine with its real tools. */
export interface Spawning extends Office {
  /** Requests of sub-agents, oldest first. */
  childRequests(): ModelRequest[]
  /** Requests of the one who was asked. */
  parentRequests(): ModelRequest[]
  runs(): Promise<Run[]>
  children(): Promise<Run[]>
}

export function isSubagent({ system }: Pick<ModelRequest, 'system'>): boolean {
  return system.includes('You are a subagent spawned by')
}

/** What a tool answered last in this request, as JSON; undefined if the last message is no answer of a tool. */
export function answered({ messages }: Pick<ModelRequest, 'messages'>): Record<string, unknown> | undefined {
  const last = messages.at(-1)
  return last?.role === 'tool' ? JSON.parse(last.content) : undefined
}

/** A reply that makes calls of one tool. */
export function calling(name: string, ...inputs: object[]): ScriptedReply {
  return { calls: inputs.map((input) => ({ name, input })) }
}

/** Asked to `go`, the agent spawns these and says so; it presents what it is told later. */
export function spawns(...inputs: object[]): Answers {
  return (last, request) => {
    if (request.messages.at(-1)?.role === 'tool') return { text: 'started' }
    return last === 'go' ? calling('sessions_spawn', ...inputs) : { text: `presented: ${last}` }
  }
}

/** A sub-agent with the task "outer" that starts another, "inner", and tells what it hears of it. */
export const spawnsInner: Answers = (last, request) => {
  if (last === 'inner') return { text: 'inner' }
  if (answered(request)) return { text: 'started' }
  return last === 'outer' ? calling('sessions_spawn', { task: 'inner' }) : { text: `heard ${last}` }
}

export async function newSpawning(
  database: Database,
  { parent, child }: { parent: Answers; child: Answers },
  { config: configure, others = [], window, ...options }: SpawningOptions = {},
): Promise<Spawning> {
  const answer = (request: ModelRequest) =>
    (isSubagent(request) ? child : parent)(request.messages.at(-1)?.content ?? '', request)
  const model = scriptedModel(answer, window === undefined ? {} : { window })
  const office = await newOffice(
    database,
    {},
    {
      agents: [],
      ...options,
      model,
      others,
      config(config) {
        config.agent.default = '@general'
        config.memory.narratives = false
        configure?.(config)
      },
    },
  )
  const runs = () => office.engine.store.read((rows) => runsOf(rows, {}))
  return {
    ...office,
    childRequests: () => model.requests.filter(isSubagent),
    parentRequests: () => model.requests.filter((request) => !isSubagent(request)),
    runs,
    children: async () => (await runs()).filter(({ parentRunId }) => parentRunId !== null),
  }
}
