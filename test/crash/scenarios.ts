import type { WrittenRule } from '../../src/testing.ts'

/** What a process does before it is killed. */
export const scenarios = ['plain', 'two', 'tools', 'retries', 'steer', 'cancel', 'timeout'] as const
export type Scenario = (typeof scenarios)[number]

// Slow enough that something can happen meanwhile; only the first attempt, so that recovery is not made to wait again.
const slowly = { pieceBytes: 24, pause: 20 }

/** What the provider answers: each question of the scenarios below is told by its first word. */
export const providerRules: WrittenRule[] = [
  {
    when: 'first',
    attempts: 1,
    after: 'user',
    answer: { calls: [{ id: 'c1', name: 'put', input: {} }], faults: slowly },
  },
  { when: 'first', after: 'user', answer: { calls: [{ id: 'c1', name: 'put', input: {} }] } },
  { when: 'endless', attempts: 1, answer: { text: 'an answer that nobody waits for', faults: slowly } },
  {
    when: 'tools',
    after: 'user',
    answer: {
      calls: [
        { id: 'c1', name: 'look', input: {} },
        { id: 'c2', name: 'put', input: {} },
        { id: 'c3', name: 'push', input: {} },
        { id: 'c4', name: 'note', input: {} },
        { id: 'c5', name: 'push', input: {} },
      ],
    },
  },
  { when: 'tools', after: 'tools', answer: { text: 'all of it is done' } },
  // The first failure leaves the pause to the engine, the second asks for none.
  { when: 'stumble', attempts: 1, answer: { faults: { status: { code: 503 } } } },
  { when: 'stumble', attempts: 2, answer: { faults: { status: { code: 503, headers: { 'retry-after': '0' } } } } },
  {
    when: 'errand',
    attempts: 1,
    after: 'user',
    answer: { calls: [{ id: 'c1', name: 'push', input: {} }], faults: slowly },
  },
  { when: 'errand', after: 'user', answer: { calls: [{ id: 'c1', name: 'push', input: {} }] } },
  { when: 'hang', after: 'user', answer: { calls: [{ id: 'c1', name: 'hang', input: {} }] } },
]

/** How long the run of `timeout` may run. */
export const shortTimeout = 0.4
