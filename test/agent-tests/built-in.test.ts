import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Evidence } from '../../src/agent-tests/evidence.ts'
import { fixturePath, hasFixture, readFixture } from '../../src/agent-tests/fixture.ts'
import { folderState } from '../../src/agent-tests/folder-state.ts'
import { judge } from '../../src/agent-tests/judge.ts'
import { makeScratch } from '../../src/agent-tests/scratch.ts'
import { openAgents } from '../../src/app/agents.ts'
import { systemClock } from '../../src/system.ts'
import { goodWork, type Work } from './good-work.ts'

const paths = { home: '/nowhere', skills: '/nowhere/skills' }
const agents = openAgents({ paths, config: { skills: [], models: {} }, clock: systemClock }).list()

/** Looks at work as if an agent had done it; commands run as they are, since what they run is ours. */
async function judged(path: string, tools: string[], { text, files = {}, calls = [], plans = [] }: Work) {
  const fixture = readFixture(fixturePath(path))
  const { folder, remove } = makeScratch(fixture)
  onTestFinished(remove)
  const before = folderState(folder)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  const evidence: Evidence = {
    ...{ folder, before, after: folderState(folder), state: 'completed', why: '', text, tools, plans },
    calls: calls.map((name) => ({ name, status: 'ok' })),
    modelCalls: calls.length + 1,
    async run(command) {
      const path = `${dirname(process.execPath)}:${process.env['PATH']}`
      const { status, stdout, stderr } = spawnSync('bash', ['-c', command], {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: path },
      })
      return { code: status, output: stdout + stderr }
    },
  }
  return judge(fixture.checks, evidence)
}

describe('the tests of the agents that come with heddle', () => {
  test('are there for each of them, and for nobody else', () => {
    const directories = readdirSync(join(import.meta.dirname, '../../agents')).filter((name) => name.endsWith('.test'))
    expect(directories).toEqual(agents.map(({ name }) => `${name}.test`))
    expect(agents.filter(({ path }) => !hasFixture(path))).toEqual([])
  })

  test.each(agents)('good work of $name passes every check', async ({ name, path, tools }) => {
    const checks = await judged(path, tools, goodWork[name] as Work)
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
    expect(checks.length).toBeGreaterThan(7)
  })

  test.each(agents)('an agent that only says that it is done does not pass as $name', async ({ path, tools }) => {
    const checks = await judged(path, tools, { text: 'Everything is done, as the task wants it.' })
    const failed = checks.filter(({ ok }) => !ok)
    expect(failed.length).toBeGreaterThanOrEqual(3)
    expect(failed.filter(({ saw }) => saw === '')).toEqual([])
  })

  test('code that was made to pass the visible tests, and nothing else, does not pass as coder', async () => {
    const [coder] = agents.filter(({ name }) => name === 'coder')
    const made =
      "export const duration = (s) => ({ 0: '0 s', 59: '59 s', 123: '2 min 3 s', 300: '5 min', 3600: '1 h' })[s] ?? '1 h 5 min'\n"
    const work = { ...(goodWork['coder'] as Work), files: { 'src/duration.mjs': made } }
    const failed = (await judged(coder?.path ?? '', coder?.tools ?? [], work)).filter(({ ok }) => !ok)
    expect(failed.map(({ says }) => says)).toEqual(['days work too, although no test asks for them'])
  })
})
