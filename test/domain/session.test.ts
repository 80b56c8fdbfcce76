import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseReference, referenceKinds } from '../../src/domain/reference.ts'
import { checkLabel } from '../../src/domain/session.ts'

test.for(['main', 'ops:main', 'v1.2+rc-3', '@coder', '_x', '2026', 'größe', '日本', 'tasks', 'plans', 'a'.repeat(80)])(
  '%s can be a label',
  (label) => {
    expect(checkLabel(label)).toBe(label)
  },
)

test.for([
  '',
  ' ',
  'a b',
  '-v',
  '--help',
  '.hidden',
  '/a',
  'a/b',
  'a\\b',
  '~',
  'a\0',
  'a\n',
  '😀',
  '\ud800',
  'a'.repeat(81),
])('%j cannot be a label', (label) => {
  expect(() => checkLabel(label)).toThrow(expect.objectContaining({ code: 'bad_label' }))
})

test.for(referenceKinds)('%s:x cannot be a label, since it means something else', (kind) => {
  expect(() => checkLabel(`${kind}:x`)).toThrow(expect.objectContaining({ code: 'bad_label' }))
})

test('a label has one spelling, however its accents were typed', () => {
  expect(checkLabel('gro\u0308\u00dfe')).toBe('gr\u00f6\u00dfe')
})

test('what passes as a label passes again unchanged, and is never taken for a reference or a flag', () => {
  const texts = fc.string({ unit: 'grapheme', maxLength: 90 })
  fc.assert(
    fc.property(texts, (text) => {
      let label: string
      try {
        label = checkLabel(text)
      } catch (error) {
        expect(error).toMatchObject({ name: 'HeddleError' })
        return
      }
      expect(checkLabel(label)).toBe(label)
      expect(parseReference(label)).toEqual({ kind: null, id: label })
      expect(label).toMatch(/^[^-./\\\s][^/\\\s]*$/)
    }),
    { numRuns: 500 },
  )
})
