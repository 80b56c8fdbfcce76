import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type Fixture,
  fixturePath,
  fixtureTemplate,
  hasFixture,
  type Measured,
  measureAgent,
  readFixture,
} from '../app-agent-tests.ts'
import { type AgentsHere, openAgents } from '../app-agents.ts'
import type { Config } from '../config/config.ts'
import { fileTrouble } from '../config/files.ts'
import { rehearsal } from '../config/schema.ts'
import { type Agent, isLive } from '../domain/agent.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { agentNamed } from './agents-named.ts'
import { measuredPage, measuredRow, type NotMeasured, summaryPage } from './agents-test-page.ts'
import type { Answer, Here } from './cli.ts'
import type { CommandIo } from './io.ts'
import { printable } from './screen.ts'

/** The settings of this home, as the test needs them. */
export type Around = Omit<AgentsHere, 'config'> & { config: Config }

/** In the order in which a piece of work would meet them. */
const ours = ['researcher', 'project-planner', 'coder', 'code-review', 'writer', 'tester']

/** Measures agents by the tests beside their files: those that are named, or all of ours. */
export async function testAgents(
  here: Here,
  around: Around,
  names: string[],
  options: Record<string, unknown>,
): Promise<Answer> {
  if (options['new'] === true) return newTest(here, around, names)
  const { stopped } = here
  stopped.addEventListener('abort', () => here.tell('stopping'))
  endAtSecondInterrupt(here.io)
  const asked = options['model'] === undefined ? undefined : String(options['model'])
  const tests = (names.length > 0 ? names : ours).map((name) => testOf(here, around, name, asked))
  const [only] = tests
  const measure = (test: Test) => {
    here.tell(`@${test.agent.name} is at work with ${printable(test.model)}: ${test.fixture.checks.length + 1} checks`)
    return measureAgent({ ...test, ...around, clock: here.clock, env: here.env, stopped })
  }
  if (only && tests.length === 1) {
    const measured = await measure(only)
    const row = measuredRow(measured)
    return { json: row, text: measuredPage(here.screen, measured), code: row.ok ? 0 : 1 }
  }
  const all: (Measured | NotMeasured)[] = []
  const pages: string[] = []
  for (const test of tests) {
    const result = await measure(test).catch((error: unknown) => notMeasured(test.agent.name, error))
    all.push(result)
    pages.push(`@${test.agent.name}\n${'error' in result ? refusalPage(result) : measuredPage(here.screen, result)}`)
  }
  const rows = all.map((each) => ('error' in each ? { ok: false, ...each } : measuredRow(each)))
  const ok = rows.every((row) => row.ok)
  const text = [...pages, summaryPage(here.screen, all)].join('\n\n')
  return { json: { ok, tests: rows }, text, code: ok ? 0 : 1 }
}

/**
 * Who is in a hurry presses twice: the end of the process removes everything, too. Listens from the first one on, since
 * a signal that nobody listens to for a moment kills without an end.
 */
function endAtSecondInterrupt({ signals, exit }: CommandIo): void {
  let count = 0
  signals.on('SIGINT', () => {
    if (++count > 1) exit(130)
  })
}

interface Test {
  agent: Agent
  fixture: Fixture
  model: string
}

/** Everything that is wrong with a test is said before the first model is asked. */
function testOf(here: Here, around: Around, name: string, asked: string | undefined): Test {
  const { config } = around
  const agent = agentNamed(here, openAgents(around), name)
  if (!isLive(agent)) {
    const remedy = `see why: heddle agents show ${agent.path}`
    throw new HeddleError('agent_unusable', `${agent.path} cannot be given work: it is ${agent.status}`, remedy)
  }
  const model = asked ?? agent.model ?? config.agent.model ?? rehearsal
  if (model === rehearsal)
    throw new Misuse('rehearsal cannot be measured: it is a script.', 'add a model: heddle models add')
  const place = placeOf(around, agent)
  if (place === undefined)
    throw new HeddleError(
      'agent_test_missing',
      `@${agent.name} has no test: there is no ${fixturePath(agent.path)}`,
      `write one to fill in: heddle agents test ${agent.name} --new`,
    )
  return { agent, fixture: readFixture(place), model }
}

/** Beside the agent's file; for a changed copy of one of ours, the test that ours has. */
function placeOf(around: Around, { path, name }: Agent): string | undefined {
  if (hasFixture(path)) return fixturePath(path)
  const original = openAgents(around)
    .list()
    .find((each) => each.name === name && each.source === 'built-in')
  return original && hasFixture(original.path) ? fixturePath(original.path) : undefined
}

/** Writes a test that works and measures little, for its owner to fill in. */
async function newTest(here: Here, around: Around, names: string[]): Promise<Answer> {
  const [name, ...more] = names
  if (name === undefined || more.length > 0)
    throw new Misuse('--new needs the name of one agent', 'heddle agents test NAME --new')
  const agent = agentNamed(here, openAgents(around), name)
  const path = fixturePath(agent.path)
  if (existsSync(path))
    throw new HeddleError('agent_test_exists', `there is a test already: ${path}`, `run it: heddle agents test ${name}`)
  try {
    for (const [file, text] of Object.entries(fixtureTemplate)) {
      await mkdir(dirname(join(path, file)), { recursive: true })
      await writeFile(join(path, file), text, { flag: 'wx' })
    }
  } catch (error) {
    throw fileTrouble(error, 'agent_test_unwritable', `Cannot write ${path}`)
  }
  const text = `wrote ${path}: task.md, files/ and checks.json\nfill them in, then: heddle agents test ${agent.name}`
  return { json: { ok: true, name: agent.name, path }, text }
}

/** One agent that cannot be measured keeps nobody from measuring the others; a person who stops, stops all. */
function notMeasured(agent: string, error: unknown): NotMeasured {
  if (!(error instanceof HeddleError) || error.code === 'cancelled') throw error
  return { agent, error: { code: error.code, message: error.message, remedy: error.remedy } }
}

function refusalPage({ error }: NotMeasured): string {
  return printable(`${error.message}\n  → ${error.remedy}`, { lines: true })
}
