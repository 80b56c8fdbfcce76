import { onTestFinished } from 'vitest'
import { idSource } from '../../src/domain/id.ts'
import { startOfDay } from '../../src/domain/spending.ts'
import type { Runtime } from '../../src/engine/runtime.ts'
import { append } from '../../src/engine/turns/append.ts'
import { fork } from '../../src/engine/turns/fork.ts'
import type { OpenOptions } from '../../src/store/before-upgrade.ts'
import { type DatabaseLocation, openStore } from '../../src/store/open.ts'
import { putPersona } from '../../src/store/rows/personas.ts'
import { costSince, reserveUsage, settleUsage } from '../../src/store/rows/usage.ts'
import type { Store } from '../../src/store/store.ts'
import { type Database, newPlace } from '../setup/places.ts'
import { readyPlace } from '../setup/ready-places.ts'
import { context } from '../setup/store-context.ts'
import { type AllRows, allRows } from './all-rows.ts'
import { backupOf } from './backup-lines.ts'

export type OpenWorld = Runtime & { place: DatabaseLocation }

/** An empty place that goes with the test. */
export function emptyPlace(database: Database): DatabaseLocation {
  const { place, remove } = newPlace(database)
  onTestFinished(remove)
  return place
}

/** Opens a place as the engine needs it, until the test is over or `close` is called. */
export async function openWorld(place: DatabaseLocation, options: OpenOptions = {}): Promise<OpenWorld> {
  const store = await openStore(place, context, options)
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= store.close()
    return closing
  }
  onTestFinished(close)
  return { store: { ...store, close }, place, clock: context.clock, newId: idSource(context.clock, context.random) }
}

/** A store of the newest schema without rows. Cheaper than to open an empty place, which has to be migrated. */
export async function emptyWorld(database: Database): Promise<OpenWorld> {
  const { place, remove } = await readyPlace(database)
  onTestFinished(remove)
  return openWorld(place)
}

/** A store that holds a little of everything: forks, a persona, a prompt, tool calls, a compaction, letters of all kinds. */
export async function filledWorld(database: Database, options: OpenOptions = {}): Promise<OpenWorld> {
  const runtime = options.migrations ? await openWorld(emptyPlace(database), options) : await emptyWorld(database)
  await fill(runtime)
  return runtime
}

/** How many turns `fill` adds. */
export const filledTurns = 6

/** The place of such a store after it was closed, with its rows and a backup. */
export async function filledPlace(
  database: Database,
  options: OpenOptions = {},
): Promise<{ place: DatabaseLocation; rows: AllRows; backup: string }> {
  const { place, store } = await filledWorld(database, options)
  const known = { place, rows: await allRows(store), backup: await backupOf(store) }
  await store.close()
  return known
}

/** Records a call of this run that was paid now. */
export function spendNow(store: Store, runId: string, costUsd: number): Promise<void> {
  const call = { runId, call: 1, rootRunId: runId, model: 'main', principal: 'owner' }
  const usage = { inputTokens: 10, outputTokens: 1, cachedTokens: 0, costUsd }
  return store.write('step', async (tx) => {
    await reserveUsage(tx, call, usage, context.clock.now())
    await settleUsage(tx, call, usage)
  })
}

/** The money that the day's budget counts. */
export async function drawnToday(place: DatabaseLocation): Promise<number> {
  const store = await openStore(place, context)
  try {
    return await store.read((rows) => costSince(rows, startOfDay(context.clock.now())))
  } finally {
    await store.close()
  }
}

export async function fill(runtime: Runtime): Promise<void> {
  await runtime.store.write('persona', (tx) =>
    putPersona(tx, { id: 'ada', identity: { name: 'Ada', soul: 'calm' }, permissions: { tools: {} } }, 1),
  )
  const folder = '/work'
  const turnIds: string[] = []
  const add = async (label: string, extra: object = {}) => {
    const draft = {
      query: [{ content: `question ${turnIds.length} "\\ \u2028 \u0000 äß漢字 😀\r\n` }],
      response: { content: 'answer' },
      ...extra,
    }
    turnIds.push((await append(runtime, { folder, label, draft, personaId: 'ada' })).turnId)
  }
  await add('main', { systemPrompt: 'You are calm.\u2028' })
  await add('main', {
    usage: { inputTokens: 10, outputTokens: 3, cachedTokens: 2, costUsd: 0.1 + 0.2 },
    toolCalls: [{ id: 'c1', name: 'read_file', input: { path: 'a' }, output: 'text', status: 'ok' }],
  })
  await add('main')
  await add('main', { query: [], compactsTo: 2 })
  await fork(runtime, { folder, turnId: turnIds[1] ?? '', label: 'side' })
  await add('side')
  await add('other')
}
