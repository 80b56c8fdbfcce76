import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { askAgent, callsOf, plansIn } from '../agent-tests/ask-agent.ts'
import type { JudgedCheck } from '../agent-tests/check.ts'
import type { CommandEnd, Evidence } from '../agent-tests/evidence.ts'
import type { Fixture } from '../agent-tests/fixture.ts'
import { folderState } from '../agent-tests/folder-state.ts'
import { judge } from '../agent-tests/judge.ts'
import { planChecks } from '../agent-tests/plan-checks.ts'
import { installAgent, makeScratch, type Scratch } from '../agent-tests/scratch.ts'
import type { App } from '../api/app.ts'
import type { RequestAnswer } from '../api/views/question.ts'
import type { Config } from '../config/config.ts'
import { owner } from '../domain/access/principal.ts'
import type { Agent } from '../domain/agent.ts'
import type { Clock, Millis } from '../domain/clock.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Spending } from '../domain/spending.ts'
import { nothingProtected } from '../domain/tools/path-handle.ts'
import { ensureHome, type HomePaths, homePaths } from '../home/home.ts'
import { proveSandbox } from '../tools/exec/sandbox/self-test.ts'
import { carryTrust } from './agents.ts'
import { openApp } from './app.ts'

export { type Fixture, fixturePath, hasFixture, readFixture } from '../agent-tests/fixture.ts'
export { fixtureTemplate } from '../agent-tests/fixture-template.ts'

const commandTime: Millis = 60_000

/** An agent under test, with its models and tools. */
interface AgentTest {
  agent: Pick<Agent, 'name' | 'path' | 'tools'>
  fixture: Fixture
  /** The model's name in heddle.yaml. */
  model: string
  /** The user's settings, keys included; their database is never opened. */
  config: Config
  /** The user's home, for the agents in it. */
  paths: Pick<HomePaths, 'home' | 'skills'>
  env: NodeJS.ProcessEnv
  clock: Clock
  stopped: AbortSignal
}

/** Outcome of a test. */
export interface AgentTestResult {
  agent: string
  model: { requested: string; actual: string | null }
  checks: JudgedCheck[]
  /** The agent's result. */
  text: string
  usage: Spending
  took: Millis
}

/** Runs an agent's test in a temporary folder and home, and checks the outcome. */
export async function runAgentTest(test: AgentTest): Promise<AgentTestResult> {
  const { stopped, agent, model, fixture, clock } = test
  const since = clock.monotonic()
  const scratch = makeScratch(fixture)
  try {
    const before = folderState(scratch.folder)
    const { answered, usage, ...left } = await runAgent(test, scratch)
    const took = clock.monotonic() - since
    const evidence: Evidence = {
      ...left,
      folder: scratch.folder,
      before,
      after: folderState(scratch.folder),
      text: answered.text,
      modelCalls: usage.calls,
      tools: agent.tools,
      run: commandsIn(test, scratch.folder),
    }
    const checks = await judge(fixture.checks, evidence)
    if (stopped.aborted) throw cancelled()
    return {
      agent: agent.name,
      model: { requested: model, actual: answered.model.actual },
      checks,
      text: answered.text,
      usage,
      took,
    }
  } catch (error) {
    throw stopped.aborted ? cancelled() : error
  } finally {
    scratch.remove()
  }
}

type Left = Pick<Evidence, 'state' | 'why' | 'calls' | 'plans'>

/** One run of the agent in a heddle of its own. */
async function runAgent(test: AgentTest, { home, folder }: Scratch) {
  const { agent, fixture, model, config, env, clock, stopped } = test
  await ensureHome(home)
  const copy = installAgent(home, agent.path, readFileSync(agent.path), agent.name)
  const scratch = { paths: homePaths(home), config: scratchConfig(test) }
  carryTrust(test.paths, { ...scratch, clock }, copy)
  const heddle = await openApp({ ...scratch, env })
  const app = heddle.as(owner)
  const seconds = fixture.timeoutSeconds ?? config.agents.defaultTimeout
  const over = new AbortController()
  const late = new AbortController()
  void clock.sleep(seconds * 1000, over.signal).then(() => late.abort())
  try {
    const signal = AbortSignal.any([stopped, late.signal])
    const answered = await askAgent(heddle, app, { folder, agent: agent.name, task: fixture.task, model, signal })
    if (stopped.aborted) throw cancelled()
    const { total: usage } = await app.usage('model')
    return {
      answered,
      usage,
      ...(await collectEvidence(app, fixture, answered, late.signal.aborted ? seconds : undefined)),
    }
  } finally {
    over.abort()
    await heddle.close()
  }
}

async function collectEvidence(
  app: App,
  { checks }: Fixture,
  answered: RequestAnswer,
  late: number | undefined,
): Promise<Left> {
  const isPlanned = checks.some(({ kind }) => Object.hasOwn(planChecks, kind))
  return {
    state: answered.status === 'accepted' ? 'waiting' : answered.status,
    why: late === undefined ? (answered.error?.message ?? '') : `it was not finished after ${late} s`,
    calls: await callsOf(app, answered),
    plans: isPlanned ? await plansIn(app, answered.folder) : [],
  }
}

/** The user's settings, adapted to a temporary home. */
function scratchConfig({ config, paths }: AgentTest): Config {
  return {
    ...config,
    database: 'sqlite',
    durability: 'normal',
    plans: 'auto',
    // A planner needs the user's agents to plan with.
    skills: [paths.skills, join(paths.home, 'agents'), ...config.skills],
    // No approvals in tests, so exec must be sandboxed, without network.
    memory: { ...config.memory, narratives: false },
    tools: { ...config.tools, ask: [], exec: { ...config.tools.exec, sandbox: 'on', network: false } },
  }
}

/** Runs the commands of checks as agents run theirs; whether that is possible is found out when the first one comes. */
function commandsIn({ config, clock, env, stopped }: AgentTest, folder: string): Evidence['run'] {
  const { memoryMB, processes } = config.tools.exec
  const confines = { network: false, processes, memoryBytes: memoryMB * 2 ** 20 }
  const self = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 }
  let proof: ReturnType<typeof proveSandbox> | undefined
  return async (command): Promise<CommandEnd> => {
    proof ??= proveSandbox(confines, { clock, env, self })
    const proved = await proof
    if ('obstacle' in proved) return { obstacle: `${proved.obstacle.why}; ${proved.obstacle.remedy}` }
    const order = { command, folder, protect: nothingProtected, cwd: folder, timeoutMs: commandTime, signal: stopped }
    const { output, code, killed } = await proved.runner(order)
    return { code: killed === undefined ? code : null, output: killed ?? output.text() }
  }
}

function cancelled(): HeddleError {
  return new HeddleError('cancelled', 'stopped: the test left nothing behind', 'run the command again')
}
