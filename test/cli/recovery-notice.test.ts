import { expect, test } from 'vitest'
import { recoveryNotice } from '../../src/cli/live/recovery-notice.ts'

const none = { resumed: [], queued: [], quarantined: [], lost: 0, unknownCalls: 0, doubledCalls: 0 }

test('the line about a crash says how many runs were lost, also when no other was found', () => {
  expect(recoveryNotice(none)).toBe(undefined)
  expect(recoveryNotice({ ...none, resumed: ['a'] })).toBe(
    'recovered after a crash: 1 run resumed, nothing lost    heddle ps -a',
  )
  expect(recoveryNotice({ ...none, resumed: ['a', 'b'], lost: 1 })).toBe(
    'recovered after a crash: 2 runs resumed, 1 lost    heddle ps -a',
  )
  expect(recoveryNotice({ ...none, lost: 2 })).toBe('recovered after a crash: 2 lost    heddle ps -a')
})

test('calls that ran twice or may have run are told', () => {
  expect(recoveryNotice({ ...none, queued: ['a'], quarantined: ['b'], doubledCalls: 1, unknownCalls: 2 })).toBe(
    'recovered after a crash: 1 run of another session requeued, 1 quarantined after 3 crashes, nothing lost, ' +
      '1 call ran twice, 2 calls with unknown outcome    heddle ps, heddle up',
  )
})
