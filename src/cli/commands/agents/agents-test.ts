import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type AgentTestResult,
  type Fixture,
  fixturePath,
  fixtureTemplate,
  hasFixture,
  readFixture,
  runAgentTest,
} from '../../../app/agent-tests.ts'
import { type HomeAgentsSettings, openAgents } from '../../../app/agents.ts'
import type { Config } from '../../../config/config.ts'
import { toFileError } from '../../../config/files.ts'
import { rehearsal } from '../../../config/schema.ts'
import { type Agent, isLive } from '../../../domain/agent.ts'
import { HeddleError, UsageError } from '../../../domain/errors.ts'
import type { CommandContext, CommandResult } from '../../command.ts'
import { type FailedAgentTest, summaryPage, testResultPage, testResultRow } from '../../pages/agents-test-page.ts'
import { printable } from '../../terminal/screen.ts'
import { findAgent } from './find-agent.ts'

/** Settings of this home for a test. */
export type TestSettings = Omit<HomeAgentsSettings, 'config'> & { config: Config }

/** Agents of a new home, in the order in which a job would use them. */
const shippedAgents = ['researcher', 'project-planner', 'coder', 'code-review', 'writer', 'tester']

/** Runs the tests next to agent files: of the named agents, or of all built-in ones. */
export async function testAgents(
  here: CommandContext,
  settings: TestSettings,
  names: string[],
  options: Record<string, unknown>,
): Promise<CommandResult> {
  if (options['new'] === true) return newTest(here, settings, names)
  const { stopped } = here
  stopped.addEventListener('abort', () => here.tell('stopping'))
  const modelOption = options['model'] === undefined ? undefined : String(options['model'])
  const tests = (names.length > 0 ? names : shippedAgents).map((name) => testOf(here, settings, name, modelOption))
  const [only] = tests
  const runTest = (test: Test) => {
    here.tell(`testing @${test.agent.name} on ${printable(test.model)}: ${test.fixture.checks.length + 1} checks`)
    return runAgentTest({ ...test, ...settings, clock: here.clock, env: here.env, stopped })
  }
  if (only && tests.length === 1) {
    const result = await runTest(only)
    const row = testResultRow(result)
    return { json: row, text: testResultPage(here.screen, result), code: row.ok ? 0 : 1 }
  }
  const all: (AgentTestResult | FailedAgentTest)[] = []
  const pages: string[] = []
  for (const test of tests) {
    const result = await runTest(test).catch((error: unknown) => failedTest(test.agent.name, error))
    all.push(result)
    pages.push(`@${test.agent.name}\n${'error' in result ? refusalPage(result) : testResultPage(here.screen, result)}`)
  }
  const rows = all.map((each) => ('error' in each ? { ok: false, ...each } : testResultRow(each)))
  const ok = rows.every((row) => row.ok)
  const text = [...pages, summaryPage(here.screen, all)].join('\n\n')
  return { json: { ok, tests: rows }, text, code: ok ? 0 : 1 }
}

interface Test {
  agent: Agent
  fixture: Fixture
  model: string
}

/** Loads a test. Throws before any model is called if something is wrong with it. */
function testOf(here: CommandContext, settings: TestSettings, name: string, modelOption: string | undefined): Test {
  const { config } = settings
  const agent = findAgent(here, openAgents(settings), name)
  if (!isLive(agent)) {
    const remedy = `see why: heddle agents show ${agent.path}`
    throw new HeddleError('agent_unusable', `${agent.path} cannot be used: it is ${agent.status}`, remedy)
  }
  const model = modelOption ?? agent.model ?? config.agent.model ?? rehearsal
  if (model === rehearsal)
    throw new UsageError('rehearsal cannot be tested: it is a script.', 'add a model: heddle models add')
  const place = testPath(settings, agent)
  if (place === undefined)
    throw new HeddleError(
      'agent_test_missing',
      `@${agent.name} has no test: there is no ${fixturePath(agent.path)}`,
      `create one: heddle agents test ${agent.name} --new`,
    )
  return { agent, fixture: readFixture(place), model }
}

/** Path of the test: next to the agent's file, or next to the built-in agent that it is a copy of. */
function testPath(settings: TestSettings, { path, name }: Agent): string | undefined {
  if (hasFixture(path)) return fixturePath(path)
  const original = openAgents(settings)
    .list()
    .find((each) => each.name === name && each.source === 'built-in')
  return original && hasFixture(original.path) ? fixturePath(original.path) : undefined
}

/** Writes a minimal working test for the user to fill in. */
async function newTest(here: CommandContext, settings: TestSettings, names: string[]): Promise<CommandResult> {
  const [name, ...more] = names
  if (name === undefined || more.length > 0)
    throw new UsageError('--new needs the name of one agent', 'heddle agents test NAME --new')
  const agent = findAgent(here, openAgents(settings), name)
  const path = fixturePath(agent.path)
  if (existsSync(path))
    throw new HeddleError('agent_test_exists', `the test already exists: ${path}`, `run it: heddle agents test ${name}`)
  try {
    for (const [file, text] of Object.entries(fixtureTemplate)) {
      await mkdir(dirname(join(path, file)), { recursive: true })
      await writeFile(join(path, file), text, { flag: 'wx' })
    }
  } catch (error) {
    throw toFileError(error, 'agent_test_unwritable', `cannot write ${path}`)
  }
  const text = `wrote ${path}: task.md, files/ and checks.json\nfill them in, then: heddle agents test ${agent.name}`
  return { json: { ok: true, name: agent.name, path }, text }
}

/** Turns the failure of one test into a result, so that the others still run; a cancellation ends all. */
function failedTest(agent: string, error: unknown): FailedAgentTest {
  if (!(error instanceof HeddleError) || error.code === 'cancelled') throw error
  return { agent, error: { code: error.code, message: error.message, remedy: error.remedy } }
}

function refusalPage({ error }: FailedAgentTest): string {
  return printable(`${error.message}\n  → ${error.remedy}`, { lines: true })
}
