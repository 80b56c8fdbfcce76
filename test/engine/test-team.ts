import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import { engineOf } from '../../src/app/engine.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import type { Agent } from '../../src/domain/agent.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { Embedder } from '../../src/domain/embedder.ts'
import type { ModelRequest } from '../../src/domain/model.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { answer } from '../../src/engine/run/answer.ts'
import { type Submission, submit } from '../../src/engine/run/submit.ts'
import { startWorker, type Worker } from '../../src/engine/run/worker/worker.ts'
import type { Engine } from '../../src/engine/runtime.ts'
import { homeFiles } from '../../src/home/home-files.ts'
import { readIdentityFiles } from '../../src/home/identity.ts'
import { fileSearch } from '../../src/memory/file-search.ts'
import { fileIndex } from '../../src/memory/index-files.ts'
import { createSemanticIndex } from '../../src/memory/semantic-index.ts'
import type { Reading } from '../../src/store/store.ts'
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../src/testing.ts'
import { type Database, newTestRuntime } from '../setup/places.ts'
import { testLocks } from './engine.ts'

/** Who a request is for, as a provider could tell. */
export function whoIs({ system, tools }: Pick<ModelRequest, 'system' | 'tools'>): string {
  if (system.startsWith('You are the narrator')) return 'narrator'
  return tools.some(({ name }) => name === 'spawn_agent')
    ? 'coordinator'
    : (/^You are @(\S+),/.exec(system)?.[1] ?? '?')
}

/** Everything that was said so far, oldest first. */
export function saidIn({ messages }: Pick<ModelRequest, 'messages'>): string[] {
  return messages.map(({ content }) => content)
}

/** Plays a role: what it answers to a request. `said` is all of it, `last` the newest message. */
export type Play = (said: string[], last: string, request: ModelRequest) => ScriptedReply

/** A coordinator and agents over the real engine, in a folder of their own; the model plays every role by a script. */
export interface Office {
  engine: Engine
  folder: string
  model: ScriptedModel
  requestsOf(who: string): ModelRequest[]
  put(path: string, text: string): void
  ask(content: string, more?: Partial<Submission>): Promise<RequestAnswer>
  /** The same without waiting; answers the input's id. */
  say(content: string, more?: Partial<Submission>): Promise<string>
  heard(itemId: string): Promise<RequestAnswer>
  until<T>(question: (rows: Reading) => Promise<T | undefined | false>): Promise<T>
  restart(): Promise<void>
  /** Nobody works any more. */
  stop(): Promise<void>
  remove(): Promise<void>
}

export interface OfficeOptions {
  agents?: Agent[]
  config?: (config: Config) => void
  tools?: Tool[]
  clock?: Clock
  /** A home whose files agents read and find. */
  home?: string
  /** Who tells what is meant. */
  embedder?: Embedder
  /** Tokens that the model has room for. */
  window?: number
  /** Who answers everything, instead of those who play a role. */
  model?: ScriptedModel
  /** Models besides the one that plays the roles, which is the default. */
  others?: ScriptedModel[]
}

export async function newOffice(
  database: Database,
  plays: Record<string, Play>,
  {
    agents = staff,
    config: configure,
    tools = [],
    clock,
    home,
    embedder,
    window,
    model: given,
    others = [],
  }: OfficeOptions = {},
): Promise<Office> {
  const runtime = await newTestRuntime(database, clock ? { clock } : {})
  if (embedder) runtime.semanticIndex = createSemanticIndex(embedder, runtime)
  const folder = mkdtempSync(join(tmpdir(), 'heddle-office-'))
  const config = await loadConfig(join(folder, 'none.yaml'), {})
  config.tools.ask = []
  configure?.(config)
  const model =
    given ??
    scriptedModel(
      (request) => {
        const said = saidIn(request)
        const play = plays[whoIs(request)]
        if (!play) throw new Error(`nobody plays ${whoIs(request)}`)
        return play(said, said.at(-1) ?? '', request)
      },
      window === undefined ? {} : { window },
    )
  const known = new Map(agents.map((agent) => [agent.name, agent]))
  const live = () => [...known.values()]
  const engine = engineOf(
    runtime,
    { crash: () => undefined, live: () => undefined },
    {
      config,
      models: [model, ...others],
      tools,
      env: {},
      agents: { find: (name) => known.get(name), list: live },
      ...(home !== undefined && {
        identityFiles: () => readIdentityFiles(home),
        fileSearch: config.memory.files ? fileSearch(runtime, fileIndex(runtime, homeFiles(home))) : undefined,
      }),
    },
  )
  const workers: Worker[] = []
  const work = async () => {
    const onError = (error: unknown) => troubles.push(error)
    workers.push(await startWorker(engine, { locks: testLocks(), pid: 1, onError }))
  }
  const rest = async () => void (await Promise.all(workers.splice(0).map((worker) => worker.stop())))
  const troubles: unknown[] = []
  await work()
  const say = async (content: string, more: Partial<Submission> = {}) =>
    (await submit(runtime, { folder, label: 'main', content, ...more })).itemId
  const heard = (itemId: string) => answer(engine, folder, itemId, new AbortController().signal)
  return {
    engine,
    folder,
    model,
    requestsOf: (who) => model.requests.filter((request) => whoIs(request) === who),
    put(path, text) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    },
    say,
    heard,
    ask: async (content, more) => heard(await say(content, more)),
    until: (question) =>
      new Promise((resolve, reject) => {
        const look = () =>
          runtime.store.read(question).then((found) => {
            if (found === undefined || found === false) return
            stop()
            resolve(found)
          }, reject)
        const stop = runtime.store.onHint(() => void look())
        void look()
      }),
    async restart() {
      await rest()
      await work()
    },
    stop: rest,
    async remove() {
      await Promise.all(workers.map((worker) => worker.stop()))
      await runtime.remove()
      rmSync(folder, { recursive: true, force: true })
      if (troubles.length > 0) throw troubles[0]
    },
  }
}

/** An agent as its file would make it. */
export function agentNamed(name: string, more: Partial<Agent> = {}): Agent {
  return {
    name,
    description: `Does what a ${name} does.`,
    triggers: [],
    tools: ['read_file', 'list_dir', 'search_files'],
    ask: [],
    limits: [],
    model: null,
    body: `BODY-OF-${name}: instructions nobody else may see.`,
    path: `/agents/${name}.md`,
    format: 'heddle',
    source: 'home',
    hash: name,
    status: 'ready',
    promptTokens: 20,
    diagnostics: [],
    extra: {},
    ...more,
  }
}

export const staff: Agent[] = [
  agentNamed('researcher'),
  agentNamed('project-planner', { tools: ['read_file', 'plan_tasks'] }),
  agentNamed('writer', { tools: ['read_file', 'write_file'] }),
  agentNamed('coder', { tools: ['read_file', 'spawn_agent', 'memory_store', 'exec'] }),
]

/** A brief that a planner could have written. */
export function brief(about: string): string {
  return `What to do: ${about}.\nWhat was found: it is small.\nDone when the result says so.`
}

/** A call of plan_tasks. */
export function planCall(tasks: { key: string; needs?: string[]; skill?: string; context?: string }[], id?: number) {
  return {
    name: 'plan_tasks',
    input: {
      project: { title: 'The plan', ...(id !== undefined && { id }) },
      tasks: tasks.map(({ key, needs = [], skill = 'researcher', context }) => ({
        key,
        title: `Task ${key}`,
        context: context ?? brief(key),
        skill,
        depends_on: needs,
      })),
    },
  }
}

/** A coordinator that has a plan made at the first word, runs it when it is there, and then says what it was told. */
export function planningCoordinator(goal = 'go'): Play {
  return (said, last) => {
    const plan = /\[plan:(\d+), \d+ tasks\]/.exec(said.join('\n'))?.[1]
    const no = said.find((text) => text.includes('the user said no'))
    if (no) return { text: `Heard: ${no}` }
    if (last === goal)
      return {
        text: 'I have it planned.',
        calls: [{ name: 'spawn_agent', input: { task: 'plan it', skill: 'project-planner' } }, { name: 'wait' }],
      }
    if (
      plan &&
      !said.some((text) => text.includes('"status":"running"')) &&
      !/plan:\d+/.test(last.replace(/\[plan.*/, ''))
    )
      return {
        text: 'It runs.',
        calls: [{ name: 'run_project', input: { project_id: Number(plan) } }, { name: 'wait' }],
      }
    return { text: `Heard: ${last}` }
  }
}

/** A planner that calls once and then names what it made. */
export function planner(...tasks: Parameters<typeof planCall>[0]): Play {
  return (said) => (said.length === 1 ? { calls: [planCall(tasks)] } : { text: 'Here is the plan.' })
}
