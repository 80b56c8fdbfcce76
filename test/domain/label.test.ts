import fc from 'fast-check'
import { expect, test } from 'vitest'
import { integrities, joinLabels, type Label } from '../../src/domain/label.ts'
import { labelOf, type Message } from '../../src/domain/message.ts'

const anyLabel: fc.Arbitrary<Label> = fc.record({
  integrity: fc.constantFrom(...integrities),
  sources: fc.array(fc.string(), { maxLength: 4 }),
})

test('one untrusted part makes the whole untrusted, and no source is forgotten', () => {
  const joined = joinLabels([
    { integrity: 'trusted', sources: ['human', 'file:b.md'] },
    { integrity: 'untrusted', sources: ['url:https://a.example'] },
    { integrity: 'trusted', sources: ['file:b.md'] },
  ])
  expect(joined).toEqual({ integrity: 'untrusted', sources: ['file:b.md', 'human', 'url:https://a.example'] })
})

test('nothing joined is trusted and comes from nowhere', () => {
  expect(joinLabels([])).toEqual({ integrity: 'trusted', sources: [] })
})

test('joining never trusts more, and neither order, grouping nor repetition matters', () => {
  fc.assert(
    fc.property(fc.array(anyLabel), fc.array(anyLabel), (some, others) => {
      const joined = joinLabels([...some, ...others])
      expect(joinLabels([...others, ...some])).toEqual(joined)
      expect(joinLabels([joinLabels(some), joinLabels(others)])).toEqual(joined)
      expect(joinLabels([joined, joined])).toEqual(joined)
      const isTrusted = [...some, ...others].every(({ integrity }) => integrity === 'trusted')
      expect(joined.integrity).toBe(isTrusted ? 'trusted' : 'untrusted')
      expect(new Set(joined.sources)).toEqual(new Set([...some, ...others].flatMap(({ sources }) => sources)))
    }),
  )
})

test('a message without a label of its own is trusted', () => {
  const plain: Message = { id: '1', role: 'user', content: 'hello', timestamp: 1 }
  const fetched: Message = { ...plain, id: '2', label: { integrity: 'untrusted', sources: ['url:x'] } }
  expect(labelOf([plain])).toEqual({ integrity: 'trusted', sources: [] })
  expect(labelOf([plain, fetched])).toEqual({ integrity: 'untrusted', sources: ['url:x'] })
})
