import { afterEach, expect, test } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import type { StreamDelta } from '../../src/domain/stream-delta.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { manualClock } from '../../src/testing.ts'
import { newEngine, type TestEngine } from './engine.ts'

let under: TestEngine | undefined
afterEach(() => under?.remove())

test('what a model says is told while it says it, and taken back when the call fails', async () => {
  const clock = manualClock()
  const busy = new ModelFailure('overloaded', 'too busy', 'wait', { retry: 'later' })
  const model = scriptedModel([
    { pieces: ['half an ans'], fail: busy },
    { thinking: 'hm', pieces: ['a whole ', 'answer'] },
  ])
  under = await newEngine('sqlite', model, { clock })
  const signs: StreamDelta[] = []
  under.engine.live = (sign) => signs.push(sign)
  await under.work()
  const { runId } = await under.say('hello')
  await under.pass(clock, runId, 1)
  await under.turns(1)
  expect(signs).toEqual([
    { kind: 'text', runId, call: 1, text: 'half an ans' },
    { kind: 'reset', runId, call: 1 },
    { kind: 'thinking', runId, call: 2, text: 'hm' },
    { kind: 'text', runId, call: 2, text: 'a whole ' },
    { kind: 'text', runId, call: 2, text: 'answer' },
  ])
})
