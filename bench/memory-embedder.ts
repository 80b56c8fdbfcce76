import type { Embedder } from '../src/domain/embedder.ts'
import type { Runtime } from '../src/engine/runtime.ts'
import { EmbeddingPasses } from '../src/memory/embed-memories.ts'
import { recall } from '../src/memory/recall.ts'
import { createSemanticIndex } from '../src/memory/semantic-index.ts'
import { httpEmbedder } from '../src/models/embedder/http-embedder.ts'
import { type Figure, figure, quantileFigure } from './figures.ts'
import { chanceFrom, type Fact } from './memory-facts.ts'

/** Numbers in a vector, as of the models that many run at home. */
const defaultDimensions = 768
const warmUp = 20
const still = new AbortController().signal

/** Where a real embedder is. */
export interface EmbedderAsked {
  baseURL: string
  model: string
}

/** What an embedder finds that words do not. Each memory of the world is sent to it. */
export async function embedderFigures(runtime: Runtime, facts: Fact[], asked: EmbedderAsked): Promise<Figure[]> {
  const embedder = httpEmbedder(asked, runtime.clock)
  await new EmbeddingPasses(embedder, runtime, still).next()
  const figures: Figure[] = []
  for (const how of ['asked', 'askedOtherwise'] as const) {
    figures.push(await foundFigure(runtime, facts, how))
    figures.push(await foundFigure(runtime, facts, how, embedder))
  }
  return figures
}

async function foundFigure(
  runtime: Runtime,
  facts: Fact[],
  how: 'asked' | 'askedOtherwise',
  embedder?: Embedder,
): Promise<Figure> {
  const meaning = embedder && createSemanticIndex(embedder, runtime)
  let found = 0
  for (const fact of facts) {
    const meant = await meaning?.search(fact[how], 60_000)
    if (meant?.reason !== undefined) throw new Error(meant.reason)
    const hits = await runtime.store.read((rows) => recall(rows, fact[how], runtime.clock.now(), 5, meant))
    if (hits.some(({ memory }) => memory.content === fact.content)) found++
  }
  const name = `recall@5 ${how === 'asked' ? 'with shared words' : 'paraphrased'}, ${embedder ? 'with' : 'without'} embedder`
  return figure(
    name,
    'ratio',
    null,
    [found / facts.length],
    `${found} of ${facts.length}, by ${embedder?.name ?? 'words'}`,
  )
}

/** How long a question takes where each memory has a vector, besides asking who makes them. */
export async function vectorFigures(runtime: Runtime, facts: Fact[], count: number): Promise<Figure[]> {
  const embedder = atOnce()
  const hasty = { ...runtime, clock: { ...runtime.clock, sleep: async () => undefined } }
  await new EmbeddingPasses(embedder, hasty, still).next()
  const meaning = createSemanticIndex(embedder, runtime)
  await meaning.warmUp()
  const times: number[] = []
  const held: number[] = []
  for (const { asked } of facts) {
    const loop = watchLoop(runtime)
    const begun = runtime.clock.monotonic()
    const meant = await meaning.search(asked)
    await runtime.store.read((rows) => recall(rows, asked, runtime.clock.now(), 5, meant))
    times.push(runtime.clock.monotonic() - begun)
    held.push(await loop.longest())
    if (meant.reason !== undefined) throw new Error(meant.reason)
  }
  const detail = `${defaultDimensions} numbers each, by words and meaning, ${facts.length - warmUp} questions`
  return [
    quantileFigure(`query with ${count} vectors, p95`, 'ms', { atMost: 30 }, times.slice(warmUp), 0.95, detail),
    quantileFigure('event loop held by it, p95', 'ms', { atMost: 15 }, held.slice(warmUp), 0.95, 'longest of each'),
  ]
}

/** Looks again and again how long others had to wait for their turn. */
function watchLoop({ clock }: Runtime) {
  let last = clock.monotonic()
  let longest = 0
  let isOver = false
  const look = () => {
    longest = Math.max(longest, clock.monotonic() - last)
    last = clock.monotonic()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  return {
    async longest() {
      await new Promise(setImmediate)
      isOver = true
      return longest
    },
  }
}

/** Vectors that mean nothing, made in no time. */
function atOnce(): Embedder {
  const chance = chanceFrom(4)
  const vector = () => Float32Array.from({ length: defaultDimensions }, () => chance() - 0.5)
  return { name: 'bench', embed: async (texts) => texts.map(vector) }
}
