import { idSource } from '../src/domain/id.ts'
import { nothingProtected } from '../src/domain/tools/path-handle.ts'
import type { Runtime } from '../src/engine/runtime.ts'
import { findByWords } from '../src/engine/search/find-by-words.ts'
import { indexBatch } from '../src/engine/search/index-turns.ts'
import { searchIndex } from '../src/engine/search/search-index.ts'
import { append } from '../src/engine/turns/append.ts'
import { openStore } from '../src/store/open.ts'
import { hasUnindexed } from '../src/store/rows/search/documents.ts'
import type { Tx } from '../src/store/store.ts'
import { systemClock as clock, systemRandom as random } from '../src/system.ts'
import { startPostgres } from '../test/setup/postgres.ts'
import { type Figure, figure, measure, quantileFigure } from './figures.ts'
import { chanceFrom } from './memory-facts.ts'
import { folder, growBy, openWorld, type Scratch, sizeNow } from './scratch.ts'

const turns = 100_000
const sessions = 200
/** Turns that are indexed as a home does it. */
const late = 500
const stepsTogether = 100
const vocabulary = 20_000
const questionWords = 12
const answerWords = 80
const queries = 200
const warmUp = 10

/** Searches over a hundred thousand turns on both databases, and what their index takes. */
export async function search(scratch: Scratch): Promise<Figure[]> {
  const large = await openWorld(scratch, 'search')
  const figures = await measureOn('SQLite', large, scratch, () => sizeNow(large.file))
  // Not in the scratch directory, which is of this user alone: the server runs as another one.
  const server = await startPostgres()
  try {
    const store = await openStore(
      { kind: 'postgres', url: `${server.url}?schema=search` },
      { clock, random, crash: () => undefined },
    )
    figures.push(...(await measureOn('PostgreSQL', { store, clock, newId: idSource(clock, random) }, scratch)))
    return figures
  } finally {
    await server.stop()
  }
}

async function measureOn(name: string, runtime: Runtime, scratch: Scratch, size?: () => number): Promise<Figure[]> {
  scratch.say(`${turns} turns on ${name}`)
  const say = speakerFrom(1)
  const draft = () => ({ query: [{ content: say(questionWords) }], response: { content: say(answerWords) } })
  const labels = Array.from({ length: sessions }, (_, number) => `session-${number}`)
  await growBy((label) => append(runtime, { folder, label, draft: draft() }), labels, turns)
  const before = size?.()
  scratch.say(`indexing them on ${name}`)
  const pending = () => runtime.store.read(hasUnindexed)
  // Many steps in one transaction: a home takes its time for them, a benchmark need not.
  const together = (tx: Tx) => repeat(stepsTogether, () => indexBatch(tx))
  while (await pending()) await runtime.store.write('index', together)
  const after = size?.()
  await growBy((label) => append(runtime, { folder, label, draft: draft() }), labels, late)
  const indexing = await measure(async () => {
    while (await pending()) await runtime.store.write('index', indexBatch)
  })
  const times = await searchTimes(runtime)
  const detail = `${queries} queries of three words for each, each word as frequent as in a text; ${turns} turns, ${name}`
  const figures = Object.entries(times).map(([what, measured]) =>
    quantileFigure(`search ${what}, p95, ${name}`, 'ms', { atMost: 30 }, measured, 0.95, detail),
  )
  figures.push(
    figure(
      `indexing a turn, ${name}`,
      'ms',
      null,
      [indexing / late],
      `${late} turns of ${questionWords + answerWords} words, by the steps of a home`,
    ),
  )
  if (before !== undefined && after !== undefined)
    figures.push(
      figure(
        'index of a turn / the turn, on disk',
        'ratio',
        null,
        [(after - before) / before],
        'SQLite, whole database',
      ),
    )
  await runtime.store.close()
  return figures
}

async function searchTimes(runtime: Runtime): Promise<Record<string, number[]>> {
  const { store } = runtime
  const context = {
    store,
    protect: nothingProtected,
    index: searchIndex({ store, clock, protect: nothingProtected }),
    hide: (text: string) => text,
  }
  const times: Record<string, number[]> = {}
  for (const [what, more] of Object.entries({ everywhere: {}, 'in one session': { session: 'session-7' } })) {
    const say = speakerFrom(2)
    const measured: number[] = []
    for (let round = 0; round < queries + warmUp; round++) {
      const query = say(3)
      measured.push(await measure(() => findByWords(context, folder, { query, ...more }, { isOwner: true })))
    }
    times[what] = measured.slice(warmUp)
  }
  return times
}

/** Repeats a step while there is more to do. */
async function repeat(times: number, step: () => Promise<boolean>): Promise<void> {
  for (let left = times; left > 0 && (await step()); left--);
}

/** Says words as a language does: the n-th is said about 1/n as often as the first. */
function speakerFrom(seed: number): (words: number) => string {
  const chance = chanceFrom(seed)
  const word = () => `w${Math.floor(vocabulary ** chance())}x`
  return (words) => Array.from({ length: words }, word).join(' ')
}
