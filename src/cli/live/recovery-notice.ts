import type { WorkInProgress } from '../../api/views/run.ts'
import { countNoun } from '../../domain/text/count-noun.ts'

type RecoveredWork = Pick<
  WorkInProgress,
  'resumed' | 'queued' | 'quarantined' | 'lost' | 'unknownCalls' | 'doubledCalls'
>

/** One sentence about work recovered from a dead process; undefined if there was none. */
export function recoveryNotice(work: RecoveredWork): string | undefined {
  const { resumed, queued, quarantined, lost, unknownCalls, doubledCalls } = work
  if (resumed.length + queued.length + quarantined.length + lost === 0) return undefined
  const runs = (ids: string[]) => countNoun(ids.length, 'run')
  const calls = (count: number) => countNoun(count, 'call')
  const parts = [
    ...(resumed.length > 0 ? [`${runs(resumed)} resumed`] : []),
    ...(queued.length > 0 ? [`${runs(queued)} of another session requeued`] : []),
    ...(quarantined.length > 0 ? [`${quarantined.length} quarantined after 3 crashes`] : []),
    lost === 0 ? 'nothing lost' : `${lost} lost`,
    ...(doubledCalls > 0 ? [`${calls(doubledCalls)} ran twice`] : []),
    ...(unknownCalls > 0 ? [`${calls(unknownCalls)} with unknown outcome`] : []),
  ]
  const next = queued.length > 0 ? 'heddle ps, heddle up' : 'heddle ps -a'
  return `recovered after a crash: ${parts.join(', ')}    ${next}`
}
