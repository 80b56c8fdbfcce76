import { createHash } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import { retry } from '../../src/engine/run/retry.ts'
import { listPath } from '../../src/engine/turns/history.ts'
import { routeToThread } from '../../src/engine/turns/route.ts'
import { exportTurns, importTurns } from '../../src/engine/turns/transfer.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { openStore } from '../../src/store/open.ts'
import { resultOf } from '../../src/store/rows/results.ts'
import { findSessions } from '../../src/store/rows/sessions.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { spendingBy } from '../../src/store/rows/usage.ts'
import { gate, manualClock, openTestApp, scriptedModel } from '../../src/testing.ts'
import { databases, newTestRuntime } from '../setup/places.ts'
import { context } from '../setup/store-context.ts'
import { testOn } from '../setup/test-on.ts'
import { backupOf } from '../store/backup-lines.ts'
import { emptyPlace } from '../store/filled-world.ts'
import { calling, isSubagent, newSpawning, type Spawning, spawns } from './spawning.ts'

const secret = 'The code is 4711.'
const answer = 'It is done, and the code was used.'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const removed = (text: string) => `[removed: ${text.length} characters, sha256 ${sha256(text)}]`

/** A sub-agent that is told a secret, passes it to a tool and answers. */
const child = (_: string, request: { messages: readonly { role: string }[] }) =>
  request.messages.at(-1)?.role === 'tool' ? { text: answer } : calling('list_dir', { path: 'code-4711' })

describe.each(databases)('after its result was read, on %s', (database) => {
  const test = testOn(database)
  let nest: Spawning
  afterEach(() => nest.remove())

  /** One sub-agent whose transcript goes; resolves when it is gone. */
  const deleted = async (): Promise<Run> => {
    nest = await newSpawning(database, { parent: spawns({ task: secret, label: 'x', cleanup: 'delete' }), child })
    await nest.ask('go')
    const [run] = await nest.children()
    await nest.until(async (rows) => (await sessionOf(rows, run))?.removedAt !== null)
    return run as Run
  }
  const sessionOf = async (rows: Parameters<typeof findSessions>[0], run: Run | undefined) =>
    (await findSessions(rows, { id: run?.sessionId ?? '' }))[0]
  /** Every text column of the database that could hold a transcript. */
  const allTexts = (run: Run) =>
    nest.engine.store.read(async (rows) =>
      JSON.stringify([
        await rows.all(rows.build.selectFrom('turns').selectAll().where('run_id', '=', run.id)),
        await rows.all(rows.build.selectFrom('steps').selectAll().where('run_id', '=', run.id)),
        await rows.all(rows.build.selectFrom('inbox').selectAll().where('run_id', '=', run.id)),
        await rows.all(rows.build.selectFrom('prompts').selectAll().where('text', 'like', '%subagent spawned%')),
      ]),
    )

  test('a transcript is removed, and run, result, usage and the steps of its journal stay', async () => {
    const run = await deleted()
    const texts = await allTexts(run)
    expect(texts).not.toContain('4711')
    expect(texts).not.toContain('the code was used')
    const left = await nest.engine.store.read(async (rows) => ({
      result: await resultOf(rows, run.id),
      spent: await spendingBy(rows, { runId: run.id }),
      steps: (await readSteps(rows, run.id)).map(({ kind }) => kind),
    }))
    expect(left).toMatchObject({ result: { output: answer, processed: true }, steps: ['reply', 'begun', 'ended'] })
    expect(left.spent.inputTokens).toBeGreaterThan(0)
  })

  test('log shows a tombstone with the hash of what was said', async () => {
    const run = await deleted()
    const lines = await nest.engine.store.read(async (rows) => {
      const session = await sessionOf(rows, run)
      return listPath(rows, await routeToThread(rows, `session:${session?.label}`, nest.folder))
    })
    expect(lines.map(({ preview }) => preview)).toEqual([removed(secret)])
  })

  test('an export has the tombstones, and imports elsewhere', async () => {
    const run = await deleted()
    const lines: string[] = []
    for await (const line of exportTurns(nest.engine.store)) {
      lines.push(JSON.stringify(line))
      if (line.turn.runId !== run.id) continue
      expect(line.turn.responseMessage.content).toBe(removed(answer))
      expect(JSON.stringify(line)).not.toContain('4711')
    }
    const other = await newTestRuntime(database)
    const report = await importTurns(
      other,
      (async function* () {
        yield* lines
      })(),
    )
    await other.remove()
    expect(report.imported).toBe(lines.length)
  })

  test('a backup is written, verified and restored with them', async () => {
    const run = await deleted()
    const place = emptyPlace(database)
    await restoreBackup(place, await backupOf(nest.engine.store), { context })
    const store = await openStore(place, context)
    const session = await store.read((rows) => sessionOf(rows, run))
    await store.close()
    expect(session?.removedAt).toEqual(expect.any(Number))
  })

  test('the session takes no input and its run is not tried again', async () => {
    const run = await deleted()
    const session = await nest.engine.store.read((rows) => sessionOf(rows, run))
    await expect(nest.say('more', { label: session?.label ?? '' })).rejects.toMatchObject({ code: 'session_removed' })
    await expect(retry(nest.engine, run.id)).rejects.toMatchObject({ code: 'session_removed' })
  })

  test('a transcript that shall be kept stays, and so does one whose result was not read', async () => {
    nest = await newSpawning(database, { parent: spawns({ task: secret }), child })
    await nest.ask('go')
    const [run] = await nest.children()
    expect(await allTexts(run as Run)).toContain('4711')
    await nest.remove()
    const hold = gate()
    let woken = 0
    nest = await newSpawning(database, {
      parent: (last, request) => {
        if (last === 'go' || request.messages.at(-1)?.role === 'tool')
          return spawns({ task: secret, cleanup: 'delete' })(last, request)
        woken++
        return { text: 'presented', gate: hold }
      },
      child,
    })
    const asked = await nest.say('go')
    await hold.reached
    expect(woken).toBe(1)
    const [unread] = await nest.children()
    expect(await allTexts(unread as Run)).toContain('4711')
    hold.open()
    await nest.heard(asked)
    await nest.until(async (rows) => (await sessionOf(rows, unread))?.removedAt !== null)
  })

  test('an ended sub-agent is archived after the time that the owner set, and nothing is deleted', async () => {
    const clock = manualClock()
    nest = await newSpawning(
      database,
      { parent: spawns({ task: secret }), child },
      { clock, config: ({ tools }) => Object.assign(tools.subagents, { archiveAfterMinutes: 5 }) },
    )
    await nest.ask('go')
    const [run] = await nest.children()
    await clock.advance(4 * 60_000)
    expect(await nest.engine.store.read((rows) => sessionOf(rows, run))).toMatchObject({ archivedAt: null })
    const archived = nest.until(async (rows) => (await sessionOf(rows, run))?.archivedAt ?? undefined)
    let at: number | undefined
    void archived.then((found) => {
      at = found
    })
    while (at === undefined) {
      await clock.advance(10_000)
      await new Promise(setImmediate)
    }
    expect(await allTexts(run as Run)).toContain('4711')
    expect(await nest.engine.store.read((rows) => sessionOf(rows, run))).toMatchObject({ removedAt: null })
  })
})

test('why leads over a tombstone to the words of the user', async () => {
  const model = scriptedModel((request) => {
    const last = request.messages.at(-1)
    if (isSubagent(request)) return { text: answer }
    if (last?.role === 'tool') return { text: 'started' }
    return last?.content === 'go'
      ? calling('sessions_spawn', { task: secret, cleanup: 'delete' })
      : { text: `presented: ${answer}` }
  })
  const app = await openTestApp({ models: [model] })
  const work = await app.work()
  const { itemId } = await app.submit('/here', { session: 'main', content: 'go' })
  await app.answer('/here', itemId, new AbortController().signal)
  const [line] = (await app.subagents({ all: true })).rows
  for (;;) {
    const { task } = await app.subagent(line?.runId ?? '')
    if (task === '(transcript removed)') break
    await new Promise(setImmediate)
  }
  const { chain } = await app.why('/here', `run:${line?.runId}`)
  expect(chain.at(-1)?.title).toContain('go')
  expect((await app.why('/here', 'result:1')).chain.length).toBeGreaterThan(1)
  expect(await app.subagent(line?.runId ?? '')).toMatchObject({ status: 'completed', result: answer })
  await work.stop()
  await app.remove()
})
