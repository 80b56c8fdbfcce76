import type { Runtime } from '../src/engine/runtime.ts'
import { recall } from '../src/memory/recall.ts'
import { remember } from '../src/memory/remember.ts'
import { insertMemory } from '../src/store/knowledge/memories.ts'
import { type Figure, figure, measure, measurePairs, quantileFigure, ratio } from './figures.ts'
import { type EmbedderAsked, embedderFigures, vectorFigures } from './memory-embedder.ts'
import { chanceFrom, type Fact, type Known, knownThings } from './memory-facts.ts'
import { memoryStartup } from './memory-startup.ts'
import { openWorld, type Scratch } from './scratch.ts'

const many = 100_000
const few = 1000
/** So many that the words of a fact are not in more than a twentieth of them. */
const embedded = 20_000
const planted = 300
const queries = 400
const stored = 200
const together = 500
const label = { integrity: 'trusted' as const, sources: [] }

/** Whether what was remembered is found among a hundred thousand, how soon, and what remembering one more costs. */
export async function memory(scratch: Scratch, asked?: EmbedderAsked): Promise<Figure[]> {
  const known = knownThings(many, planted)
  scratch.say(`remembering ${many} things`)
  const large = await openWorld(scratch, 'memory')
  const small = await openWorld(scratch, 'memory-small')
  await fill(large, spread(known))
  await fill(small, known.others.slice(-few))
  scratch.say('looking for what was planted')
  const figures = [
    await recallFigure(large, known.facts, 'asked', 'with shared words'),
    await recallFigure(large, known.facts, 'askedOtherwise', 'paraphrased'),
    await queryFigure(large, known),
    await storeFigure(large, small, known),
    ...(asked ? await withEmbedder(scratch, large, known, asked) : []),
  ]
  await large.store.close()
  await small.store.close()
  return [...figures, ...(await memoryStartup(scratch))]
}

/** A real embedder takes its time: it is asked about fewer, among them all that are alike. */
async function withEmbedder(scratch: Scratch, large: Runtime, known: Known, asked: EmbedderAsked): Promise<Figure[]> {
  scratch.say(`comparing ${many} vectors`)
  const figures = await vectorFigures(large, known.facts, many)
  scratch.say(`having ${embedded} things embedded`)
  const runtime = await openWorld(scratch, 'memory-embedder')
  const fewer = knownThings(embedded, planted)
  await fill(runtime, spread(fewer))
  figures.push(...(await embedderFigures(runtime, fewer.facts, asked)))
  await runtime.store.close()
  return figures
}

async function recallFigure(
  runtime: Runtime,
  facts: Fact[],
  how: 'asked' | 'askedOtherwise',
  said: string,
): Promise<Figure> {
  let found = 0
  for (const fact of facts) {
    const hits = await runtime.store.read((rows) => recall(rows, fact[how], runtime.clock.now(), 5))
    if (hits.some(({ memory }) => memory.content === fact.content)) found++
  }
  const goal = how === 'asked' ? { atLeast: 0.9 } : null
  const detail = `${found} of ${facts.length} facts among the first 5 of ${many} memories, e.g. "${facts[0]?.[how]}"`
  return figure(`recall@5 ${said}`, 'ratio', goal, [found / facts.length], detail)
}

async function queryFigure(runtime: Runtime, { others, common }: Known): Promise<Figure> {
  const chance = chanceFrom(2)
  const any = <T>(from: readonly T[]): T => from[Math.floor(chance() * from.length)] as T
  const rarer = () => {
    for (;;) {
      const word = any(any(others).toLowerCase().split(' '))
      if (!common.includes(word)) return word
    }
  }
  const times: number[] = []
  for (let round = 0; round < queries + 20; round++) {
    const question = [any(common), rarer(), rarer(), any(common), rarer(), rarer()].join(' ')
    times.push(await measure(() => runtime.store.read((rows) => recall(rows, question, runtime.clock.now(), 5))))
  }
  return quantileFigure(
    `query of 6 words, p95, ${many} memories`,
    'ms',
    { atMost: 30 },
    times.slice(20),
    0.95,
    `recall, two of the words in more than a tenth of all (${common.length} such words), ${queries} queries`,
  )
}

async function storeFigure(large: Runtime, small: Runtime, { others }: Known): Promise<Figure> {
  const chance = chanceFrom(3)
  const words = others.slice(-many / 2).flatMap((text, at) => (at % 50 === 0 ? text.split(' ') : []))
  const texts = Array.from({ length: stored + 20 }, () =>
    Array.from({ length: 12 }, () => words[Math.floor(chance() * words.length)]).join(' '),
  )
  const keepIn = (runtime: Runtime) => (round: number) =>
    runtime.store.write('submit', (tx) =>
      remember(tx, { content: texts[round] ?? '', source: 'user', label }, runtime.clock.now(), many * 2),
    )
  const pairs = await measurePairs({ ours: keepIn(large), floor: keepIn(small) }, { pairs: stored, warmUp: 20 })
  return ratio(`remembering one more at ${many} over at ${few}`, null, pairs, [`at ${many}`, `at ${few}`])
}

/** Each fact somewhere among the others: what is newest is not what is looked for. */
function spread({ facts, others }: Known): string[] {
  const every = Math.floor(others.length / facts.length)
  return others.flatMap((text, at) => (at % every === 0 ? [text, facts[at / every]?.content ?? []].flat() : [text]))
}

async function fill(runtime: Runtime, texts: string[]): Promise<void> {
  const now = runtime.clock.now()
  for (let at = 0; at < texts.length; at += together)
    await runtime.store.write('submit', async (tx) => {
      for (const content of texts.slice(at, at + together))
        await insertMemory(tx, { content, source: 'import', label }, now)
    })
}
