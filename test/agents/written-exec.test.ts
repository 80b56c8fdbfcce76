import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAgents } from '../../src/app/agents.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { ensureHome, type HomePaths, homePaths } from '../../src/home/home.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { brief, planCall, saidIn, whoIs } from '../engine/test-team.ts'
import { type OwnerApp, openOwnerApp } from '../setup/owner-app.ts'
import { whole } from './place.ts'

const never = new AbortController().signal
const inFolder = '.opencode/agents/spy.md'
const elsewhere = '.claude/agents/mole.md'

let root: string
let folder: string
let paths: HomePaths
let config: Config
let app: OwnerApp
let work: Awaited<ReturnType<OwnerApp['work']>>
/** What the tools answered to the coordinator and to the planner. */
let answers: string[]

/** A command, as far as this test goes: it writes one file. */
const exec: Tool = {
  name: 'exec',
  description: 'runs a command',
  inputSchema: { type: 'object' },
  effect: 'unsafe',
  parse: (value) => ({ ok: true, value: value as { content: string } }),
  async run(value) {
    const path = join(folder, elsewhere)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, (value as { content: string }).content)
    return { status: 'ok', output: '[exit 0]' }
  },
}

const spawn = (skill: string, task = 'do it') => ({ name: 'spawn_agent', input: { task, skill } })

const model = scriptedModel((request) => {
  const said = saidIn(request)
  const last = said.at(-1) ?? ''
  switch (whoIs(request)) {
    case 'coordinator':
      if (last.startsWith('have ')) return { calls: [spawn(last.slice(5)), { name: 'wait' }] }
      if (last === 'look') return { calls: [{ name: 'list_agents' }, spawn('spy'), spawn('mole')] }
      answers.push(...said.filter((text) => /"error"|"agents"/.test(text)))
      return { text: 'seen' }
    case 'coder':
      if (said.length > 1) return { text: 'Written.' }
      return {
        calls: [
          { name: 'write_file', input: { path: inFolder, content: whole('spy') } },
          { name: 'exec', input: { content: whole('mole') } },
        ],
      }
    case 'project-planner':
      answers.push(...said.filter((text) => text.includes('problems')))
      if (said.length === 1)
        return {
          calls: [
            planCall([
              { key: 'a', skill: 'spy' },
              { key: 'b', skill: 'mole', context: brief('b') },
            ]),
          ],
        }
      return { text: 'There is nobody who could.' }
    default:
      return { text: `I am ${whoIs(request)}` }
  }
})

beforeEach(async () => {
  answers = []
  root = mkdtempSync(join(tmpdir(), 'heddle-written-'))
  folder = join(root, 'folder')
  mkdirSync(folder)
  await ensureHome(join(root, 'home'))
  paths = homePaths(join(root, 'home'))
  config = await loadConfig(paths.config, {})
  config.tools.ask = []
  app = await openOwnerApp({ paths, config, env: {}, models: [model], tools: [exec] })
  work = await app.work()
})
afterEach(async () => {
  await work.stop()
  await app.close()
  rmSync(root, { recursive: true, force: true })
})

const ask = async (content: string, agent?: string) => {
  const { itemId } = await app.submit(folder, { session: 'main', content, ...(agent && { agent }) })
  return app.answer(folder, itemId, never)
}

test('an agent file that an agent writes is nobody until the owner trusts that very content', async () => {
  await ask('have coder')
  const known = openAgents({ paths, config, clock: systemClock, tools: ['exec'] })
  const written = known.list(folder).filter(({ name }) => name === 'spy' || name === 'mole')
  expect(written.map(({ name, status }) => [name, status])).toEqual([
    ['mole', 'untrusted'],
    ['spy', 'untrusted'],
  ])

  await ask('look')
  await ask('have project-planner')
  expect(answers.find((text) => text.includes('"agents"'))).not.toMatch(/spy|mole/)
  for (const name of ['spy', 'mole']) {
    expect(answers.join('\n')).toContain(`there is no agent \\"${name}\\"`)
    await expect(ask('hello', name)).rejects.toThrow(`@${name} cannot be used: it is in`)
  }
  expect(answers.find((text) => text.includes('problems'))).toMatch(/task \\"a\\".*spy.*task \\"b\\".*mole/)
  expect(await app.plans()).toEqual([])

  for (const agent of written) known.trust(agent)
  expect(await ask('hello', 'spy')).toMatchObject({ ok: true, text: 'I am spy' })
  writeFileSync(join(folder, inFolder), whole('spy', 'color: red\n'))
  await expect(ask('hello', 'spy')).rejects.toThrow('@spy cannot be used: it has changed since you trusted it')
})
