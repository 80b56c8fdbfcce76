import { expect, test } from 'vitest'
import { callTools } from '../../src/testing.ts'
import { heddleWithModel } from './heddle-with-model.ts'

const heddle = heddleWithModel(callTools)

const spawn = '@general call sessions_spawn({"task":"Read about XFS.","label":"xfs-research"})'

test('sub-agents are listed, shown and told apart from other runs', async () => {
  expect((await heddle().run('subagent')).out).toBe('no sub-agents are running    heddle subagent history\n')
  expect(await heddle().json('subagent', 'list')).toEqual({ subagents: [] })
  expect((await heddle().run('subagent', 'history')).out).toContain('no sub-agents yet')
  const asked = (await heddle().json('ask', spawn)) as { runId: string }
  const { subagents } = (await heddle().json('subagent', 'history', '--limit', '1')) as {
    subagents: { runId: string }[]
  }
  const [line] = subagents
  expect(subagents).toEqual([
    {
      runId: expect.any(String),
      sessionKey: `agent:general:subagent:${line?.runId}`,
      requesterKey: 'main',
      label: 'xfs-research',
      task: 'Read about XFS.',
      model: 'tiny',
      status: 'completed',
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      durationMs: expect.any(Number),
    },
  ])
  const id = line?.runId.slice(-6) ?? ''
  expect(await heddle().json('subagent', 'show', id)).toMatchObject({
    ...line,
    result: 'answer to: Read about XFS.',
    resultId: 1,
  })
  const page = (await heddle().run('subagent', 'show', `run:${id}`)).out
  expect(page).toMatch(/label +xfs-research\nstatus +completed after \d+s\n/)
  expect(page).toContain('answer to: Read about XFS.')
  expect((await heddle().run('subagent', 'history')).out).toContain('xfs-research')
  expect(await heddle().json('subagent', 'cancel', id)).toEqual({ ok: true, id: line?.runId, state: 'completed' })
  expect(await heddle().run('subagent', 'show', asked.runId)).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not a sub-agent'),
  })
})

test('a result of several lines is shown in lines', async () => {
  await heddle().json('ask', '@general call sessions_spawn({"task":"Read about\\nXFS.","label":"lines"})')
  const { subagents } = (await heddle().json('subagent', 'history')) as { subagents: { runId: string }[] }
  const { out } = await heddle().run('subagent', 'show', subagents[0]?.runId ?? '')
  expect(out).toContain('\nanswer to: Read about\nXFS.')
})
