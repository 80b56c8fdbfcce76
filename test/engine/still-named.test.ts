import { expect, test } from 'vitest'
import type { ModelMessage } from '../../src/domain/model.ts'
import { summaryMessage } from '../../src/engine/model/model-messages.ts'
import { missingReferences } from '../../src/engine/run/context/summary.ts'

const begun: ModelMessage[] = [
  {
    role: 'assistant',
    content: '',
    calls: [
      { id: 'c1', name: 'spawn_agent', input: { task: 'look it up, all of it' } },
      { id: 'c2', name: 'read_file', input: { path: 'src/a.ts' } },
    ],
  },
  { role: 'tool', callId: 'c1', name: 'spawn_agent', content: '{"status":"accepted","run_id":"1m7kapand8rp"}' },
  { role: 'tool', callId: 'c2', name: 'read_file', content: 'plan:1 and [agent_result:7]' },
]
const lists =
  '\nPointers: plan:1, [agent_result:7]\nFiles: src/a.ts\nStarted and not heard of yet: run:and8rp (look it up, all of it)'
const summarised = (text: string): ModelMessage => ({ role: 'user', content: summaryMessage(text) })

test('what a summary leaves out is named, and something alike does not stand for it', () => {
  expect(missingReferences(begun, 'plan:12, src/a.tsx and run:and8rpx')).toBe(lists)
})

test('what the runtime named in a summary is named in the summary of that summary, too', () => {
  expect(missingReferences([summarised(`x${lists}`)], 'nothing')).toBe(lists)
})

test('an agent whose end was told meanwhile is not under way any more', () => {
  const news: ModelMessage = { role: 'user', content: '[agent_result:9] run:and8rp @researcher completed: found' }
  expect(missingReferences([summarised(`x${lists}`), news], 'nothing')).not.toContain('Started')
})
