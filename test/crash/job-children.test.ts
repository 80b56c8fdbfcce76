import { appendFileSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { newHeddle, type Started, type TestHeddle } from '../cli/heddle.ts'
import { heddleWithModel } from '../cli/heddle-with-model.ts'
import { inTurn } from '../setup/long.ts'
import { type Database, databases, newPlace } from '../setup/places.ts'
import { untilSo } from '../setup/until.ts'

const parts = ['one', 'two', 'three']

/** Told to look, an agent starts three others with the tool that it has, and answers with their words when all have ended. */
const heddle = heddleWithModel(({ messages, tools }) => {
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  if (asked.startsWith('part ')) return { text: `found ${asked}` }
  if (!messages.some(({ role, content }) => role === 'user' && content === 'look')) return { text: 'I see' }
  const found = parts.filter((part) => messages.some(({ content }) => content.includes(`found part ${part}`)))
  if (found.length > 0) return { text: `joint answer of ${found.length} agents` }
  if (messages.some(({ role }) => role === 'tool')) return { text: 'started' }
  const isCoordinator = tools.some(({ name }) => name === 'spawn_agent')
  return {
    calls: parts.map((part) =>
      isCoordinator
        ? { name: 'spawn_agent', input: { task: `part ${part}`, skill: 'scout' } }
        : { name: 'sessions_spawn', input: { task: `part ${part}` } },
    ),
  }
})

interface Fire {
  outcome: string
  status?: string
  scheduledAt: string
  at: string
}

const daemons: Started[] = []
const removals: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const daemon of daemons) daemon.stop('SIGTERM')
  for (const daemon of daemons.splice(0)) await daemon.ended
  for (const remove of removals.splice(0).reverse()) await remove()
})

/** A daemon, with a kill -9 of its process where a crash point is named. */
function up(home: TestHeddle, crashAt?: string): Started {
  const daemon = home.startWith(crashAt === undefined ? {} : { env: { HEDDLE_CRASH_AT: crashAt } }, 'up')
  daemons.push(daemon)
  return daemon
}

/** Gives the home a database of its own; a worker that was killed is missed after a second. */
function useDatabase(database: Database): void {
  const { place, remove } = newPlace(database)
  removals.push(remove)
  const where = place.kind === 'postgres' ? `database: ${place.url}\n` : ''
  appendFileSync(join(heddle().home, 'heddle.yaml'), `engine: { leaseSeconds: 1 }\n${where}`)
}

/** Gives a home the agent that a coordinator starts. */
function addScout({ home }: TestHeddle): void {
  mkdirSync(join(home, 'agents'), { recursive: true })
  writeFileSync(join(home, 'agents', 'scout.md'), '---\nname: scout\ndescription: finds parts\n---\nFind it.\n')
}

const addJob = (agent: string) =>
  heddle().run(
    ...['cron', 'add', '--name', 'trio', '--every', interval, '--agent', agent, '--message', 'look'],
    ...['--deliver', 'session:reports'],
  )

const fires = async () => (await heddle().json<{ fires: Fire[] }>('cron', 'history')).fires
const messages = async () =>
  (await heddle().json<{ messages: { state: string; title: string }[] }>('cron', 'outbox')).messages
const runs = async (...more: string[]) => (await heddle().json<{ runs: { via: string }[] }>('ps', ...more)).runs

/** Resolves when so many fires are over, all runs have ended and all messages were sent; the job fires no more. */
async function stopAfter(count: number): Promise<void> {
  await untilSo(async () => (await fires()).filter(({ status }) => status !== undefined).length >= count)
  await heddle().run('cron', 'disable', '1')
  // A message that is sent starts a run, and a run that ends may send one.
  const areSent = async () => (await messages()).every(({ state }) => state === 'sent')
  await untilSo(async () => (await areSent()) && (await runs()).length === 0 && (await areSent()))
}

/** Each fire started three agents, once, and was delivered once, with the words of all three. */
async function expectOncePerFire(via: string): Promise<void> {
  const all = await fires()
  expect(new Set(all.map(({ scheduledAt }) => scheduledAt)).size).toBe(all.length)
  expect(all.filter(({ scheduledAt, at }) => at < scheduledAt)).toEqual([])
  const fired = all.filter(({ outcome }) => outcome === 'fired')
  expect(fired.map(({ status }) => status)).toEqual(fired.map(() => 'completed'))
  expect((await messages()).map(({ title }) => title)).toEqual(fired.map(() => '[Cron: trio] Complete.'))
  expect((await runs('--all')).filter((run) => run.via === via)).toHaveLength(3 * fired.length)
  const { out } = await heddle().run('export', 'reports')
  expect(out.match(/joint answer of 3 agents/g)).toHaveLength(fired.length)
}

const interval = '2s'

const kills = [
  ['when it has fired', 'fire.after_commit#1'],
  ['between the ends of two agents', 'settle.before_commit#3'],
  ['when its answer is to be delivered', 'send.before_commit#1'],
] as const

test.each(
  inTurn(
    kills.flatMap(([when, crashAt]) => databases.map((database) => [database, when, crashAt] as const)),
    1,
  ),
)(
  'a job on %s that starts three agents delivers their joint answer once per fire, across a kill -9 %s',
  async (database, _, crashAt) => {
    useDatabase(database)
    await addJob('@general')
    expect((await up(heddle(), crashAt).ended).signal).toBe('SIGKILL')
    await up(heddle()).says('running')
    await stopAfter(2)
    await expectOncePerFire('sessions_spawn')
  },
)

test('a job that starts three agents delivers once per fire with two daemons on one PostgreSQL, one of which is killed', async () => {
  useDatabase('postgres')
  const other = newHeddle()
  removals.push(() => other.remove())
  await other.run('init')
  copyFileSync(join(heddle().home, 'heddle.yaml'), join(other.home, 'heddle.yaml'))
  addScout(heddle())
  addScout(other)
  await addJob('@coordinator')
  const mortal = up(other, 'settle.before_commit#4')
  await up(heddle()).says('running')
  expect((await mortal.ended).signal).toBe('SIGKILL')
  await up(other).says('running')
  await stopAfter(3)
  await expectOncePerFire('spawn_agent')
})
