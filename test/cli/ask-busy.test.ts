import { expect, test } from 'vitest'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import { shortId } from '../../src/domain/id.ts'
import { heddleWithModel } from './heddle-with-model.ts'

const home = heddleWithModel(() => ({
  calls: [{ name: 'write_file', input: { path: 'a.md', content: 'x' } }],
}))

test('what is handed in to a busy session says which run it waits behind, and how to follow it', async () => {
  const heddle = home()
  const first = await heddle.json<RequestAnswer>('ask', 'write it', '--on-approval', 'fail')
  expect(first).toMatchObject({ status: 'waiting', approvals: [1] })
  const second = await heddle.json<RequestAnswer>('ask', 'and then?', '--no-wait')
  expect(second).toMatchObject({
    ok: true,
    status: 'accepted',
    runId: null,
    itemId: expect.any(String),
    queuedBehind: first.runId,
    follow: 'heddle watch session:main',
  })
  const { out } = await heddle.run('ask', 'and this?', '--no-wait')
  expect(out).toContain(`queued behind run:${shortId(first.runId ?? '')}`)
  expect(out).toContain('heddle watch session:main')
})
