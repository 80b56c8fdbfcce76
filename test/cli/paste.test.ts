import { expect, test } from 'vitest'
import { PasteFilter, restoreBreaks } from '../../src/cli/terminal/paste.ts'

const begin = '\u001b[200~'
const end = '\u001b[201~'

test('line breaks and tabs in a paste are part of the message, and what is typed stays as it is', () => {
  const filter = new PasteFilter()
  const line = filter.pass(`a${begin}one\r\ttwo\r\n\nthree\n${end}b`)
  expect(line).toBe('aone⏎⇥two⏎⏎threeb')
  expect(restoreBreaks(line)).toBe('aone\n\ttwo\n\nthreeb')
  expect(filter.pass('\u001b[A\r')).toBe('\u001b[A\r')
  expect(filter.pass('one\u001b\rtwo')).toBe('one⏎two')
})

test('wherever the keys are cut into pieces, the same comes out', () => {
  const keys = `x${begin}one\ntwo\u001b[31m\u0003 three${end}y\r`
  const whole = new PasteFilter().pass(keys)
  expect(whole).toBe('xone⏎two[31m threey\r')
  for (let at = 0; at <= keys.length; at++) {
    const filter = new PasteFilter()
    // A lone Escape is a key: only what cannot be one is waited for.
    const isInKey = at === 2 || at === 3
    if (!isInKey) expect(filter.pass(keys.slice(0, at)) + filter.pass(keys.slice(at))).toBe(whole)
  }
})
