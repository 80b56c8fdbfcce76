import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { untilSo } from '../setup/until.ts'
import { heddleWithModel } from './heddle-with-model.ts'

/** Looks at its folder once, and answers with what it saw. */
const heddle = heddleWithModel(({ messages }) => {
  const seen = messages.at(-1)
  if (seen?.role === 'tool') return { text: `I saw: ${seen.content}` }
  return seen?.content === 'look' ? { calls: [{ name: 'list_dir', input: { path: '.' } }] } : { text: 'I see' }
})

interface Fire {
  jobId: number
  status?: string
  reason?: string
}

test('a job whose agent or model is gone fails, says why, and is disabled with a notice; one whose folder is gone sees that', async () => {
  const { home, folder, run, runWith, json } = heddle()
  const config = join(home, 'heddle.yaml')
  const before = readFileSync(config, 'utf8')
  appendFileSync(config, before.replace('models:\n', '').replace('main:', 'other:'))
  mkdirSync(join(home, 'agents'), { recursive: true })
  const agent = join(home, 'agents', 'scout.md')
  writeFileSync(agent, '---\nname: scout\ndescription: finds parts\n---\nFind it.\n')
  const project = join(folder, 'project')
  mkdirSync(project)
  const add = ['cron', 'add', '--every', '1h', '--max-failures', '1', '--message', 'look']
  await run(...add, '--name', 'agent', '--agent', '@scout')
  await run(...add, '--name', 'model', '-m', 'other')
  await runWith({ cwd: project }, ...add, '--name', 'folder', '--agent', '@general', '--deliver', 'session:main')
  writeFileSync(config, before)
  rmSync(agent)
  rmSync(project, { recursive: true })
  const up = heddle().start('up')
  try {
    await up.says('running')
    for (const id of ['1', '2', '3']) await run('cron', 'run', id)
    let fires: Fire[] = []
    await untilSo(async () => {
      fires = (await json<{ fires: Fire[] }>('cron', 'history')).fires
      return fires.every(({ status }) => status !== undefined)
    })
    expect(fires.sort((a, b) => a.jobId - b.jobId)).toMatchObject([
      { status: 'failed', reason: expect.stringContaining('there is no agent "scout"') },
      { status: 'failed', reason: expect.stringContaining('there is no model "other"') },
      { status: 'completed' },
    ])
    const { jobs } = await json<{ jobs: { name: string; enabled: boolean }[] }>('cron')
    expect(new Map(jobs.map(({ name, enabled }) => [name, enabled]))).toEqual(
      new Map([
        ['folder', true],
        ['agent', false],
        ['model', false],
      ]),
    )
    const { messages } = await json<{ messages: { title: string }[] }>('cron', 'outbox')
    expect(messages.map(({ title }) => title.replace(/ Look: .*/, '')).sort()).toEqual([
      'Job 1 "agent" was disabled: it failed.',
      'Job 2 "model" was disabled: it failed.',
      '[Cron: folder] Complete.',
    ])
    const { out } = await runWith({ cwd: folder }, 'show', 'cron:3')
    expect(out).toContain(`the folder ${project} of this session cannot be reached`)
    expect(existsSync(project)).toBe(false)
  } finally {
    up.stop('SIGTERM')
    await up.ended
  }
})
