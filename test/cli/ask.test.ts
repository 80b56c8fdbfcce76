import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { RunLine } from '../../src/api/views/run.ts'
import type { ToolCall } from '../../src/domain/turn.ts'
import { answerPlainly, callTools, startProvider, type TestProvider } from '../../src/testing.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

let heddle: TestHeddle
let provider: TestProvider
beforeEach(async () => {
  heddle = newHeddle()
  provider = await startProvider({ answer: answerPlainly })
  await heddle.run('init')
  writeFileSync(
    join(heddle.home, 'heddle.yaml'),
    `models:\n  main: { provider: openai-compatible, baseURL: "${provider.url}", model: tiny, price: { input: 1, output: 1 } }\n`,
  )
})
afterEach(async () => {
  await provider.close()
  heddle.remove()
})

const ask = (...args: string[]) => heddle.json<RequestAnswer>('ask', ...args)

test('ask answers with the turn, the model that really answered and what it cost, and leaves nothing running', async () => {
  const answer = await ask('which port?')
  expect(answer).toMatchObject({
    ok: true,
    status: 'completed',
    text: 'answer to: which port?',
    session: 'main',
    folder: heddle.folder,
    model: { requested: null, actual: 'tiny' },
    turns: [answer.turnId],
  })
  expect(await heddle.json('ps')).toMatchObject({ runs: [] })
  const { total } = await heddle.json<{ total: { inputTokens: number } }>('usage')
  expect(total).toMatchObject({ inputTokens: answer.usage.inputTokens, calls: 1 })
})

test('a pipe gets the answer alone; what it cost goes to stderr', async () => {
  const { code, out, err } = await heddle.run('ask', 'which port?')
  expect({ code, out }).toEqual({ code: 0, out: 'answer to: which port?\n' })
  expect(err).toMatch(/^turn:\w{6} · tiny · \d+ in, \d+ out · \$\d+\.\d+ · \d+\.\ds {2}heddle show turn:\w{6}\n$/)
})

test('a second question carries the first; --from starts a session at any turn', async () => {
  const first = await ask('one')
  await ask('two')
  const forked = await ask('three', '-s', 'other', '--from', first.turnId ?? '')
  expect(forked).toMatchObject({ ok: true, session: 'other' })
  const last = provider.log.findLast((line) => line.kind === 'received')
  expect(JSON.stringify(last)).toContain('answer to: one')
  expect(JSON.stringify(last)).not.toContain('answer to: two')
})

test('without waiting it is handed in, ps shows it, and the next ask in that session does it first', async () => {
  const handed = await ask('later', '--no-wait')
  expect(handed).toMatchObject({ ok: true, status: 'accepted' })
  const { runs } = await heddle.json<{ runs: RunLine[] }>('ps')
  expect(runs).toMatchObject([{ id: handed.runId, state: 'queued', session: 'main' }])
  expect(await ask('now')).toMatchObject({ ok: true, text: 'answer to: now' })
  expect(await heddle.json('show', `run:${handed.runId}`)).toMatchObject({ state: 'completed', epoch: 1 })
  expect((await heddle.run('show', `run:${handed.runId}`)).out).toMatch(/^lane +main$/m)
})

test('a queued run is cancelled and retried by its reference', async () => {
  const { runId } = await ask('later', '--no-wait')
  const tail = `run:${runId?.slice(-6)}`
  expect(await heddle.json('cancel', tail)).toEqual({ ok: true, id: runId, state: 'cancelled' })
  expect(await heddle.json('cancel', tail)).toEqual({ ok: true, id: runId, state: 'cancelled' })
  expect(await heddle.json('retry', tail)).toMatchObject({ ok: true })
  expect(await ask('and this')).toMatchObject({ ok: true })
})

test('an unknown model is refused before anything is taken in', async () => {
  expect(await heddle.json('ask', 'x', '-m', 'mian')).toMatchObject({
    ok: false,
    error: { code: 'model_unknown', remedy: 'did you mean main?' },
  })
  expect(await heddle.json('sessions')).toEqual({ sessions: [] })
})

test('a kill at any moment of a question loses nothing: the next one finds its answer', async () => {
  for (const point of ['submit.after_commit', 'claim.after_commit', 'model.after_reply', 'settle.before_commit']) {
    const killed = await heddle.runWith({ env: { HEDDLE_CRASH_AT: `${point}#1` } }, 'ask', `killed at ${point}`)
    expect(killed.signal).toBe('SIGKILL')
    await ask('go on')
    const { turns } = await heddle.json<{ turns: { preview: string; status: string }[] }>('log')
    expect(turns.filter(({ preview }) => preview.includes(point))).toMatchObject([{ status: 'completed' }])
  }
})

test('up works through what was handed in, is alone in its home, and stops on SIGTERM without leaving anything', async () => {
  await ask('first', '--no-wait')
  const up = heddle.start('up')
  await up.says('running:')
  await provider.until(({ kind }) => kind === 'answered')
  while ((await heddle.json<{ runs: unknown[] }>('ps')).runs.length > 0);
  const second = await heddle.run('up', '--json')
  expect(JSON.parse(second.out)).toMatchObject({
    ok: false,
    error: { code: 'already_up', remedy: expect.stringContaining('heddle down') },
  })
  up.stop('SIGTERM')
  expect(await up.ended).toMatchObject({ code: 0, out: 'stopped; unfinished work is queued again\n' })
  expect(await heddle.json('ps')).toMatchObject({ runs: [] })
})

test('a model starts other agents, which cannot start any themselves, and answers when all have ended', async () => {
  await provider.close()
  provider = await startProvider({ answer: callTools })
  await heddle.run('config', 'set', 'models.main.baseURL', provider.url)
  const answer = await ask(
    'call sessions_spawn({"task":"count the ports"}) and sessions_spawn({"task":"name the proxy"})',
  )
  expect(answer).toMatchObject({ ok: true, turns: { length: 2 } })
  const { runs } = await heddle.json<{ runs: RunLine[] }>('ps', '--all')
  const asked = runs.filter(({ via }) => via !== 'narrator')
  expect(asked.map(({ kind, depth, state }) => [kind, depth, state])).toEqual([
    ['turn', 0, 'completed'],
    ['spawn', 1, 'completed'],
    ['spawn', 1, 'completed'],
    ['turn', 0, 'completed'],
  ])
  const { effectiveTools } = await heddle.json<{ effectiveTools: string[] }>('show', `run:${runs[1]?.id}`)
  expect(effectiveTools).not.toContain('sessions_spawn')
  const { turns } = await heddle.json<{ turns: { preview: string }[] }>('log')
  expect(turns[1]?.preview).toMatch(/^\[Subagent: count the ports\] Complete\. \[agent_result:1\] run:/)
})

test('a model looks at the files of the folder, and at nothing else', async () => {
  await provider.close()
  provider = await startProvider({ answer: callTools })
  await heddle.run('config', 'set', 'models.main.baseURL', provider.url)
  writeFileSync(join(heddle.folder, 'notes.txt'), 'the port\nis 8080\n')
  const answer = await ask(
    'call search_files({"pattern":"8080"}) and list_dir({"path":"."}) then ' +
      'read_file({"path":"notes.txt","offset":2}) and read_file({"path":"../home/heddle.yaml"})',
  )
  expect(answer).toMatchObject({ ok: true, status: 'completed' })
  const { toolCalls } = await heddle.json<{ toolCalls: ToolCall[] }>('show', `turn:${answer.turnId}`)
  expect(toolCalls.map(({ name, status, output }) => [name, status, output])).toEqual([
    ['search_files', 'ok', 'notes.txt:2: is 8080\n[1 match in 1 file]'],
    ['list_dir', 'ok', 'notes.txt  17 bytes'],
    ['read_file', 'ok', '2\tis 8080'],
    ['read_file', 'forbidden', expect.objectContaining({ error: expect.stringMatching(/leads out of/) })],
  ])
  expect(answer.text).toContain('read_file: 2\tis 8080')
})

test('a run has the tools that the owner lets it have, and no others', async () => {
  await provider.close()
  provider = await startProvider({ answer: callTools })
  await heddle.run('config', 'set', 'models.main.baseURL', provider.url)
  await heddle.run('config', 'set', 'tools.allow', '[read_*, list_dir]')
  await heddle.run('config', 'set', 'tools.deny', '[read_file]')
  const answer = await ask('call read_file({"path":"notes.txt"})')
  expect(answer.text).toContain('no tool named \\"read_file\\"; available: list_dir')
  expect(await heddle.json('show', `run:${answer.runId}`)).toMatchObject({
    effectiveTools: ['list_dir', 'read_result'],
  })
  const sent = provider.log.find((line) => line.kind === 'received')
  expect(JSON.stringify(sent)).toContain('list_dir')
  expect(JSON.stringify(sent)).not.toContain('search_files')
})

test('a name at the beginning that nobody has is told of, and stays a part of the question', async () => {
  const { code, err } = await heddle.run('ask', '--agent', '@general', '@reviewer which port?')
  expect([code, err]).toEqual([0, expect.stringMatching(/^no agent @reviewer; sent as plain text {4}/m)])
  expect((await heddle.run('ask', '@general which port?')).err).not.toContain('no agent @')
})

test.each(['@Reviewer', '@REVIEWER', ' @reviewer', '@reviewer,', '@general.x', '@general!'])(
  'a question to "%s" is told to be plain text, in JSON too',
  async (name) => {
    const notice = `no agent ${name.trim().replace(',', '')}; sent as plain text`
    const { code, out, err } = await heddle.run('ask', '--agent', '@general', `${name} which port?`, '--json')
    expect([code, err]).toEqual([0, expect.stringContaining(notice)])
    expect(JSON.parse(out)).toMatchObject({
      text: `answer to: ${name} which port?`,
      notices: [expect.stringContaining(notice)],
    })
  },
)
