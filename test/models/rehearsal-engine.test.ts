import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Question } from '../../src/api/views/question.ts'
import type { TurnView } from '../../src/api/views/turn.ts'
import type { Model } from '../../src/domain/model.ts'
import { rehearsalModel } from '../../src/rehearsal/rehearsal.ts'
import { systemClock } from '../../src/system.ts'
import { openTestApp, scriptedModel } from '../../src/testing.ts'
import { untilSo } from '../setup/until.ts'

const request = 'survey this folder and write a report with a summary per part'

/** A person with the whole program, in a folder of four parts. */
async function newPerson(others: Model[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-rehearsal-'))
  const files = {
    'src/api/cart.ts': 'export const cart = [] // TODO price\n\n',
    'src/db/rows.ts': 'export const rows = 1\n',
    'src/web/page.ts': 'page\n',
    'package.json': '{}\n',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const app = await openTestApp({ agent: 'coordinator', models: [rehearsalModel({ clock: systemClock }), ...others] })
  const work = await app.work()
  onTestFinished(async () => {
    await work.stop()
    await app.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  /** Says something, answers whatever is asked, first with these noes, and hears the end of it. */
  const say = async (content: string, { noes = [], ...more }: Partial<Question> & { noes?: string[] } = {}) => {
    const { itemId } = await app.submit(folder, { session: 'main', content, ...more })
    const never = new AbortController().signal
    for (;;) {
      const { approvals, text } = await app.answer(folder, itemId, never)
      if (!approvals) return text
      for (const { id, hash } of (await app.approvals()).filter((each) => approvals.includes(each.id))) {
        const reason = noes.shift()
        await app.decide(String(id), reason === undefined ? { answer: 'once', hash } : { answer: 'no', reason })
      }
    }
  }
  return { app, folder, say, read: (path: string) => readFileSync(join(folder, path), 'utf8') }
}

test('a small request is done by one agent of the real engine, and told by the coordinator', async () => {
  const { say, read } = await newPerson()
  expect(await say('count files in src')).toBe(
    'REHEARSAL: src: 3 files.\n@researcher, full result: heddle show result:1',
  )
  expect(await say('write NOTES.md: buy milk')).toContain('wrote NOTES.md: 1 line, 9 bytes.')
  expect(read('NOTES.md')).toBe('buy milk\n')
})

test('a delegation shows the result of the agent, and why a skill or an agent is refused', async () => {
  const { app, folder, say, read } = await newPerson()
  await app.setProfile('profile:poet:v1', { model: { model: 'rehearsal' } })
  const lists = { allowedForwardSkills: ['skill:writer'] }
  const poet = { agentId: '@poet', profileId: 'profile:poet:v1', description: 'Writes verse.', ...lists }
  await app.registerAgent(poet)
  expect(await say('delegate to @poet with writer: write NOTES.md: buy milk')).toContain('wrote NOTES.md')
  expect(read('NOTES.md')).toBe('buy milk\n')
  expect(await say('delegate to @poet with coder: count files')).toContain(
    'the skill "coder" may not be forwarded to @poet; allowed: writer',
  )
  expect(await say('delegate to @pot: count files')).toContain('there is no agent "@pot"; did you mean @poet?')
  const alone = await say('delegate to @poet with writer: count files in src', { agent: 'general', session: 'alone' })
  expect(alone).toBe('REHEARSAL: src: 3 files.\n@poet, full result: heddle show result:2')
  const { rows: runs } = await app.runs({ all: true })
  const first = runs.find(({ agent }) => agent === 'poet')
  const shown = await app.command(folder, { session: 'main', line: `/show run:${first?.id}` })
  expect(JSON.stringify(shown)).toContain('{"name":"profile","value":"profile:poet:v1, version 1"}')
  expect(JSON.stringify(shown)).toContain('{"name":"skills","value":"writer"}')
  expect(runs.filter(({ kind }) => kind === 'delegate').map(({ agent }) => agent)).toEqual(['poet', 'poet'])
})

test('from the chat and without a model: register, pin, see why, delegate, a model clamped and a skill refused', async () => {
  const big = Object.assign(
    scriptedModel(() => ({ text: 'never' })),
    { name: 'big' },
  )
  const { app, folder, say, read } = await newPerson([big])
  const type = async (line: string) => JSON.stringify(await app.command(folder, { session: 'main', line }))
  await app.setProfile('profile:writer:v2', { model: { model: 'rehearsal' } })
  await type('/agents unregister @writer')
  await type('/agents register @writer | profile:writer:v2 | Writes clear docs.')
  expect(await type('/agents pin @writer')).toContain('@writer (profile:writer:v2) is pinned for session main')
  const pins = await type('/agents pins')
  expect(pins).toContain('["*","session","@writer","profile:writer:v2"]')
  expect(pins).toContain('it is pinned for this session')
  expect(await say('delegate to @writer with coder: count files')).toContain('the skill "coder" may not be forwarded')
  expect(await say('delegate to @writer on big: write NOTES.md: buy milk')).toContain('wrote NOTES.md')
  expect(read('NOTES.md')).toBe('buy milk\n')
  const child = (await app.runs({ all: true })).rows.find(({ kind }) => kind === 'delegate')
  expect(await type(`/show run:${child?.id}`)).toContain('of big: its profile does not allow it')
  expect(await type('/agents pins')).toBe(pins)
  expect(big.requests).toEqual([])
})

test('the results of sub-agents come with the task that was not started, and why', async () => {
  const { app, folder, say } = await newPerson()
  // tools.subagents.maxChildrenPerAgent is 5.
  const tasks = [1, 2, 3, 4, 5, 6].map((part) => `find "part ${part}"`)
  const said = await say(`use sub-agents: ${tasks.join('; ')}`, { agent: 'general' })
  const [, last] = said.split('\nStill not started: ')
  expect(last).toMatch(/^find "part 6": 5 of your sub-agents still work/)
  const [first] = await app.log(folder, { of: 'session:main' })
  const { response } = (await app.show(folder, `turn:${first?.id}`)) as TurnView
  expect(response.content.split(/: 5 of|\n/)).toEqual([
    "REHEARSAL: I've spawned 5 sub-agents. I'll let you know when they complete.",
    'Not started: find "part 6"',
    expect.any(String),
  ])
})

test('a report is planned, refused, planned anew, fails, is mended, written and checked', async () => {
  const { app, say, read } = await newPerson()
  const stopped = await say(`${request}, let task 2 fail`, { attended: true, noes: ['drop src/web'] })
  const failed = (await app.tasks({ status: 'failed' })).map(({ id, title }) => ({ id, title }))
  expect(failed).toEqual([{ id: expect.any(Number), title: 'summarise src/db' }])
  expect(stopped).toContain(`You decide: retry task:${failed[0]?.id} ·`)
  const told = await say('retry task 2 with: count it after all')
  expect(told).toContain('wrote REPORT.md: 3 parts, 3 files, 4 lines, 2 exports, 1 TODO;')
  expect(told).toMatch(/\b(\d+) numbers counted again from the files, \1 agree\./)
  expect(read('REPORT.md')).toContain('- src/api: 1 file, 2 lines, 1 export, 1 TODO (first src/api/cart.ts:1). result:')
  expect(read('REPORT.md')).not.toContain('src/web')
})

test('a job of the rehearsal starts three agents, and the main session presents their joint answer', async () => {
  const { app, folder } = await newPerson()
  const { id } = await app.addJob(folder, {
    ...{ name: 'trio', every: '1h', agent: '@general', deliver: ['session:main'] },
    message: 'use sub-agents: count files in src; find "TODO"; outline package.json',
  })
  await app.runJob(id)
  const presented = async () => (await app.log(folder, { of: 'session:main' }).catch(() => [])).at(-1)
  await untilSo(async () => (await presented()) !== undefined)
  expect(await app.fires({ job: id })).toMatchObject([{ outcome: 'fired', status: 'completed' }])
  const shown = (await app.show(folder, `turn:${(await presented())?.id}`)) as TurnView
  const [opening, ...parts] = shown.response.content.split(/(?<=complete\.)\n|\n\n/)
  expect(opening).toBe('REHEARSAL: The job trio is complete.')
  expect(parts.sort()).toEqual([
    'count files in src: src: 3 files.',
    'find "TODO": "TODO": 1 in 1 file.\nsrc/api/cart.ts:1: export const cart = [] // TODO price',
    expect.stringMatching(/^outline package.json: package.json: /),
  ])
})
