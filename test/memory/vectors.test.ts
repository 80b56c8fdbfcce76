import { describe, expect, test } from 'vitest'
import { byWordsAndMeaning } from '../../src/memory/merge.ts'
import { cosine, packVector, unpackVector } from '../../src/memory/packed-vector.ts'
import {
  baselineSentences,
  baselineSimilarity,
  chanceSimilarity,
  relevanceOf,
} from '../../src/memory/similarity-baseline.ts'
import { VectorScan } from '../../src/memory/vector-scan.ts'

/** Evenly around zero, the same from each seed. */
function vectorFrom(seed: number, dimensions: number): Float32Array {
  let state = seed + 1
  return Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 31 - 1
  })
}

const bytesOf = (vector: Float32Array) => unpackVector(packVector(vector), vector.length) as Int8Array

describe('a packed vector', () => {
  test.each([1, 3, 384, 1536])('of %i numbers points where it did', (dimensions) => {
    const vector = vectorFrom(7, dimensions)
    expect(cosine(vector, bytesOf(vector))).toBeGreaterThan(0.9999)
  })

  test('says the same of the same direction, however long', () => {
    const vector = vectorFrom(7, 16)
    expect(packVector(vector.map((number) => number * 1e-6))).toBe(packVector(vector))
  })

  test('of another length is none', () => {
    expect(unpackVector(packVector(vectorFrom(1, 8)), 9)).toBeUndefined()
    expect(unpackVector('', 9)).toBeUndefined()
  })
})

describe.each([1, 7, 8, 100, 513])('comparing vectors of %i numbers', (dimensions) => {
  const count = 50
  const vectors = Array.from({ length: count }, (_, seed) => vectorFrom(seed, dimensions))
  const filled = () => {
    const scan = new VectorScan(dimensions, count)
    for (const [place, vector] of vectors.entries()) scan.put(place, bytesOf(vector))
    return scan
  }

  test('tells how near each is, as the numbers themselves do', () => {
    const scan = filled()
    const question = vectorFrom(99, dimensions)
    scan.ask(question)
    const found = [...scan.cosines(0, 20), ...scan.cosines(20, 30)]
    for (const [at, vector] of vectors.entries()) expect(found[at]).toBeCloseTo(cosine(question, vector), 2)
  })

  test('finds nothing near in a place that was emptied, and what was put there later', () => {
    const scan = filled()
    const [first, second] = vectors as [Float32Array, Float32Array]
    scan.ask(second)
    scan.put(0, undefined)
    expect(scan.cosines(0, 1)[0]).toBe(0)
    scan.put(0, bytesOf(second))
    expect(scan.cosines(0, 1)[0]).toBeCloseTo(1, 2)
    scan.put(0, bytesOf(first))
    expect(scan.cosines(0, 1)[0]).toBeCloseTo(cosine(first, second), 2)
  })
})

test('products of the largest vectors do not overflow', () => {
  const all = new Float32Array(4096).fill(1)
  const scan = new VectorScan(all.length, 1)
  scan.put(0, bytesOf(all))
  scan.ask(all)
  expect(scan.cosines(0, 1)[0]).toBeCloseTo(1, 4)
})

describe('what is near enough', () => {
  test('is measured from the third nearest of those that have nothing to do with it', () => {
    const towards = (near: number) => Float32Array.of(near, Math.sqrt(1 - near * near))
    const strangers = [0.9, 0.8, 0.5, 0.4, 0.1].map((near) => bytesOf(towards(near)))
    expect(baselineSimilarity(Float32Array.of(1, 0), strangers)).toBeCloseTo(0.5, 1)
    expect([relevanceOf(0.5, 0.5), relevanceOf(0.75, 0.5), relevanceOf(1, 0.5), relevanceOf(0.2, 0.5)]).toEqual([
      0, 0.5, 1, 0,
    ])
    expect(baselineSentences.length).toBeGreaterThan(20)
  })

  test('rises with their number: the nearest of many is near by chance', () => {
    const crowd = (count: number) => chanceSimilarity({ count, sum: 0.2 * count, squares: (0.04 + 0.01) * count })
    expect(crowd(29)).toBe(0)
    expect(crowd(100)).toBeCloseTo(0.2 + 0.1 * 3.03, 2)
    expect(crowd(100_000)).toBeCloseTo(0.2 + 0.1 * 4.8, 2)
  })
})

describe('two lists become one', () => {
  const near = (id: number, relevance: number, isChance = false) => ({ id, relevance, isChance })
  const hit = (id: number, relevance: number) => ({ id, relevance, words: ['w'] })
  const order = (fits: { id: number; merged: number }[]) =>
    fits.toSorted((a, b) => b.merged - a.merged).map(({ id }) => id)

  test('who is ahead in both comes first, and the first of one counts what it did alone', () => {
    const fits = byWordsAndMeaning([hit(1, 0.8), hit(2, 0.8), hit(3, 0.1)], [near(2, 0.5), near(4, 0.5)])
    expect(order(fits)).toEqual([2, 1, 4, 3])
    expect(fits.find(({ id }) => id === 1)?.merged).toBeCloseTo(0.8)
    expect(fits.find(({ id }) => id === 4)).toEqual({ id: 4, words: [], relevance: 0.5, meaning: 0.5, merged: 0.5 })
  })

  test('of those that fit equally well by words, the meaning decides, not their number', () => {
    const alike = Array.from({ length: 30 }, (_, at) => hit(100 - at, 0.6))
    expect(order(byWordsAndMeaning(alike, [near(71, 0.4), near(85, 0.3)])).slice(0, 2)).toEqual([71, 85])
  })

  test('what is near by chance is found, and is no reason to remind anybody', () => {
    const [fit] = byWordsAndMeaning([], [near(1, 0.5, true)])
    expect(fit).toMatchObject({ relevance: 0, meaning: 0.5 })
    expect(fit?.merged).toBeGreaterThan(0.4)
  })
})
