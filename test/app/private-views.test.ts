import { expect, test } from 'vitest'
import type { WhyLink, WhyView } from '../../src/api/views/why.ts'
import { withoutPrivateLinks } from '../../src/app/guard/private-views.ts'

test('an explanation for anyone but the owner has no memory and no narrative in it', () => {
  const link = (kind: WhyLink['kind'], id: string): WhyLink => ({
    kind,
    id,
    title: `of ${kind}`,
    at: null,
    how: 'from',
  })
  const view: WhyView = {
    ref: 'task:1',
    chain: [link('task', '1'), link('memory', '2'), link('narrative', '3'), link('turn', 'abc')],
    notes: [],
    story: { told: [link('narrative', '4')], isMore: false },
  }
  expect(withoutPrivateLinks(view)).toEqual({
    ref: 'task:1',
    chain: [link('task', '1'), link('turn', 'abc')],
    notes: [],
  })
})
