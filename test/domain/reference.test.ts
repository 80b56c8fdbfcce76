import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseReference, referenceKinds } from '../../src/domain/reference.ts'

test.for([
  ['turn:4c1e', 'turn', '4c1e'],
  ['session:main', 'session', 'main'],
  ['session:ops:main', 'session', 'ops:main'],
  ['file:src/a.ts:12', 'file', 'src/a.ts:12'],
  ['main', null, 'main'],
  ['ops:main', null, 'ops:main'],
  ['Turn:4c1e', null, 'Turn:4c1e'],
  [':main', null, ':main'],
  ['turn', null, 'turn'],
] as const)('%s is of kind %s and names %s', ([text, kind, id]) => {
  expect(parseReference(text)).toEqual({ kind, id })
})

test.for(['', 'turn:', 'session:'])('"%s" is not a reference', (text) => {
  expect(() => parseReference(text)).toThrow(expect.objectContaining({ code: 'bad_reference' }))
})

test('a word without a colon is never of a kind, however much it looks like one', () => {
  for (const kind of referenceKinds)
    for (const text of [kind, `${kind}s`, `${kind}x`, `a${kind}`])
      expect(parseReference(text)).toEqual({ kind: null, id: text })
})

test('what is written as kind:id is read back as that', () => {
  fc.assert(
    fc.property(fc.constantFrom(...referenceKinds), fc.string({ minLength: 1 }), (kind, id) => {
      expect(parseReference(`${kind}:${id}`)).toEqual({ kind, id })
    }),
  )
})
