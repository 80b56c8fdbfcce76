import { expect, test } from 'vitest'
import { kindsOf } from '../../web/src/text/diff-lines.ts'

test('a line of a change that looks like the heading of a file is what it is', () => {
  const change = [
    '--- a/counter.sql',
    '+++ b/counter.sql',
    '@@ -1,2 +1,3 @@',
    ' select 1',
    '--- drop nothing',
    '+++ increment()',
    '+@@ -1 +1 @@',
    '--- a/other',
    '+++ b/other',
    '@@ -1 +1 @@',
    '-old',
    '+new',
  ]
  const file = ['head', 'head', 'head']
  expect(kindsOf(change)).toEqual([...file, 'same', 'removed', 'added', 'added', ...file, 'removed', 'added'])
})

test('a text that is no diff has no lines that were added or removed', () => {
  expect(kindsOf(['npm test', '+ not added', '@@ not a hunk'])).toEqual(['same', 'same', 'same'])
})
