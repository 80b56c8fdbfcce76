import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { databases, newPlace } from '../setup/places.ts'
import { untilSo } from '../setup/until.ts'
import { heddleWithModel } from './heddle-with-model.ts'

const heddle = heddleWithModel(() => ({ text: 'all is well' }))

interface Job {
  id: number
  nextAt: string | null
  enabled: boolean
  lastStatus?: string
}

test('a job is added with its next five runs shown before, listed, changed, disabled and removed', async () => {
  expect((await heddle().run('cron')).out).toContain('no jobs yet')
  const added = await heddle().run(
    ...['cron', 'add', '--name', 'briefing', '--every', 'weekday at 08:30'],
    ...['--tz', 'America/New_York', '--message', 'What is new?'],
  )
  expect(added.err.match(/ 08:30:00/g)).toHaveLength(5)
  expect(added.out).toContain('added job 1 "briefing"')
  expect(added.out).toContain('Jobs run only while heddle up is running, and it is not.    heddle up')
  expect(await heddle().json('cron', 'list')).toMatchObject({
    jobs: [
      {
        ...{ id: 1, name: 'briefing', kind: 'cron', spec: '30 8 * * 1-5', timezone: 'America/New_York' },
        ...{ session: 'isolated', enabled: true, missed: 'once' },
      },
    ],
  })
  expect(await heddle().json('cron', 'edit', '1', '--every', '2h', '--session', 'main')).toMatchObject({
    ...{ ok: true, kind: 'every', spec: '2h', session: 'main' },
  })
  expect(await heddle().json<Job>('cron', 'disable', '1')).toMatchObject({ enabled: false, nextAt: null })
  expect((await heddle().json<Job>('cron', 'enable', 'job:1')).nextAt).not.toBe(null)
  const status = await heddle().run('status')
  expect(status.out).toContain('next jobs  briefing in 2 h')
  expect((await heddle().run('ps')).out).toContain('next jobs: briefing in 2 h')
  expect(await heddle().json('cron', 'rm', '1')).toEqual({ ok: true })
  expect(await heddle().json('cron')).toEqual({ jobs: [] })
})

test('a time that is not in the grammar is refused with the cron form, and nothing is saved', async () => {
  const { code, err } = await heddle().run('cron', 'add', '--every', 'month', '--message', 'x')
  expect([code === 0, err.includes('--cron "30 8 * * 1-5"')]).toEqual([false, true])
  const dry = await heddle().json('cron', 'add', '--at', '2031-02-03T04:05Z', '--message', 'x', '--dry-run')
  expect(dry).toEqual({ kind: 'at', spec: '2031-02-03T04:05:00.000Z', times: ['2031-02-03T04:05:00.000Z'] })
  expect(await heddle().json('cron')).toEqual({ jobs: [] })
})

test('times that never come and active hours that are none are refused before times are shown', async () => {
  const refusal = async (...times: string[]) => {
    const { code, out, err } = await heddle().run('cron', 'add', '--dry-run', '--message', 'x', ...times)
    return [code, out, err.split('\n')[0]]
  }
  expect(await refusal('--at', 'in 0 min')).toEqual([2, '', 'this job would never run: it has no future time'])
  const hours = 'the active hours are not two times of day'
  expect(await refusal('--every', '20s', '--active', '8-22')).toEqual([2, '', hours])
  const repeated = 'active hours are for jobs that repeat'
  expect(await refusal('--at', 'in 5 min', '--active', '08:00-09:00')).toEqual([2, '', repeated])
})

test('a time zone alone changes jobs whose times or active hours are in one, and is refused for others', async () => {
  const add = (...times: string[]) => heddle().run('cron', 'add', ...times, '--tz', 'Europe/Berlin', '--message', 'x')
  await add('--every', 'day at 08:30')
  await add('--every', '30min', '--active', '08:00-22:00')
  await add('--every', '30min')
  await add('--at', '2031-02-03T04:05')
  await add('--on', 'deploy.done')
  const edit = (id: number) => heddle().json('cron', 'edit', String(id), '--tz', 'Asia/Tokyo')
  expect(await edit(1)).toMatchObject({ ok: true, timezone: 'Asia/Tokyo' })
  expect(await edit(2)).toMatchObject({ ok: true, activeHours: '08:00-22:00', timezone: 'Asia/Tokyo' })
  const { jobs: before } = await heddle().json<{ jobs: object[] }>('cron')
  const refusal = async (id: number) => {
    const { code, err } = await heddle().run('cron', 'edit', String(id), '--tz', 'Asia/Tokyo')
    return [
      code,
      ...err
        .split('\n')
        .slice(0, 2)
        .map((line) => line.replace('  → ', '')),
    ]
  }
  expect(await refusal(3)).toEqual([
    2,
    'an interval is the same in every time zone',
    'name times of day as well: --every "day at 08:30", or --active 08:00-22:00',
  ])
  expect(await refusal(4)).toEqual([
    2,
    'its time is a moment, the same everywhere',
    'name the time again as well: --at',
  ])
  expect(await refusal(5)).toEqual([
    2,
    'a time zone has no effect: this job waits for an event',
    'name a time as well: --every',
  ])
  expect(await heddle().json('cron')).toEqual({ jobs: before })
})

test('a task that becomes news goes to the main session, and news that becomes a task has a session of its own', async () => {
  const changed = async (...change: string[]) => {
    const { session, payload } = await heddle().json<{ session: string; payload: string }>(
      'cron',
      'edit',
      '1',
      ...change,
    )
    return [payload, session]
  }
  await heddle().run('cron', 'add', '--every', '1h', '--message', 'look')
  expect(await changed('--event', 'news')).toEqual(['systemEvent', 'main'])
  expect(await changed('--event', 'more news')).toEqual(['systemEvent', 'main'])
  expect(await changed('--message', 'look')).toEqual(['agentTurn', 'isolated'])
  expect(await changed('--event', 'news', '--session', 'isolated')).toEqual(['systemEvent', 'isolated'])
  expect(await changed('--message', 'look', '--session', 'side')).toEqual(['agentTurn', 'side'])
  expect(await changed('--event', 'news')).toEqual(['systemEvent', 'side'])
})

test('a job that does not exist has no history, in the words of every other command', async () => {
  await heddle().run('cron', 'add', '--every', '1h', '--message', 'look')
  const unknown = await heddle().run('cron', 'history', '99')
  expect(unknown).toMatchObject({ code: 1, out: '' })
  expect(unknown.err).toBe((await heddle().run('cron', 'rm', '99')).err)
  expect((await heddle().run('cron', 'history', '1')).out).toContain('job 1 has not fired yet')
})

test('a job for a session that nobody can make is refused, and so is such a delivery', async () => {
  const refusal = async (...where: string[]) => {
    const { code, err } = await heddle().run('cron', 'add', '--every', '1h', '--message', 'x', ...where)
    return [code, err.includes('cannot be')]
  }
  for (const label of ['a b', 'cron:1', 'agent:general:subagent:1']) {
    expect(await refusal('--session', label)).toEqual([2, true])
    expect(await refusal('--deliver', `session:${label}`)).toEqual([2, true])
  }
  expect(await heddle().json('cron')).toEqual({ jobs: [] })
})

test('the daemon fires a job at its time and by hand, and tells what came of it', async () => {
  await heddle().run('cron', 'add', '--name', 'soon', '--every', '1s', '--message', 'look')
  await heddle().run(
    'cron',
    'add',
    '--name',
    'later',
    '--every',
    '8h',
    '--message',
    'look',
    '--deliver',
    'session:main',
  )
  const up = heddle().start('up')
  try {
    await up.says('running')
    expect((await heddle().run('cron', 'edit', '2', '--name', 'later')).out).not.toContain('heddle up')
    const run = await heddle().json('cron', 'run', '2')
    expect(run).toMatchObject({ ok: true, jobId: 2, outcome: 'fired' })
    type Fires = { fires: { outcome: string; status?: string }[] }
    const ended = async (job: string) => {
      let done: Fires['fires'] = []
      await untilSo(async () => {
        const { fires } = await heddle().json<Fires>('cron', 'history', job)
        done = fires.filter(({ status }) => status !== undefined)
        return done.length > 0
      })
      return done[0]
    }
    expect(await ended('1')).toMatchObject({ outcome: 'fired', status: 'completed' })
    expect(await ended('2')).toMatchObject({ outcome: 'fired', status: 'completed' })
    await up.says((said) => said.includes('"session":"main"'))
  } finally {
    up.stop('SIGTERM')
    await up.ended
  }
  const { messages } = await heddle().json<{ messages: object[] }>('cron', 'outbox')
  expect(messages).toMatchObject([{ to: 'session:main', state: 'sent', title: '[Cron: later] Complete.' }])
})

test.each(databases)('a restored backup holds all jobs until the owner says go, on %s', async (database) => {
  const { place, remove } = newPlace(database)
  onTestFinished(remove)
  if (place.kind === 'postgres') appendFileSync(join(heddle().home, 'heddle.yaml'), `database: ${place.url}\n`)
  const file = join(heddle().folder, 'monday.backup')
  await heddle().run('cron', 'add', '--name', 'soon', '--every', '1s', '--message', 'look')
  await heddle().run('backup', file)
  await heddle().run('restore', file, '--yes')
  expect((await heddle().run('status')).out).toContain('jobs are paused')
  expect((await heddle().run('cron')).out).toContain('heddle cron resume')
  const refused = await heddle().run('cron', 'run', '1')
  expect([refused.code === 0, refused.err.includes('heddle cron resume')]).toEqual([false, true])
  const up = heddle().start('up')
  await up.says('running')
  expect((await heddle().json('cron', 'history'))['fires']).toEqual([])
  up.stop('SIGTERM')
  await up.ended
  expect(await heddle().json('cron', 'resume')).toEqual({ ok: true, jobs: 1 })
  expect((await heddle().run('status')).out).not.toContain('jobs are paused')
})

test('a job keeps the agent that it was given, also when something else of it is changed', async () => {
  const home = heddle()
  const added = await home.json('cron', 'add', '--every', '1h', '--agent', '@general', '--message', 'look')
  expect(added).toMatchObject({ agent: 'general' })
  expect(await home.json('cron', 'edit', '1', '--name', 'other')).toMatchObject({ agent: 'general', name: 'other' })
})
