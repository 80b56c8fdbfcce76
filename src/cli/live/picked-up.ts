import type { WorkInProgress } from '../../api/views/run.ts'

type RecoveredWork = Pick<
  WorkInProgress,
  'resumed' | 'queued' | 'quarantined' | 'lost' | 'unknownCalls' | 'doubledCalls'
>

/** One sentence about work recovered from a dead process; undefined if there was none. */
export function recoveryNotice(work: RecoveredWork): string | undefined {
  const { resumed, queued, quarantined, lost, unknownCalls, doubledCalls } = work
  if (resumed.length + queued.length + quarantined.length === 0) return undefined
  const runs = (ids: string[]) => (ids.length === 1 ? '1 run' : `${ids.length} runs`)
  const calls = (count: number) => (count === 1 ? '1 call' : `${count} calls`)
  const parts = [
    ...(resumed.length > 0 ? [`${runs(resumed)} resumed`] : []),
    ...(queued.length > 0
      ? [`${runs(queued)} of another session ${queued.length === 1 ? 'is' : 'are'} queued again`]
      : []),
    ...(quarantined.length > 0 ? [`${quarantined.length} given up after three crashes`] : []),
    lost === 0 ? 'nothing lost' : `${lost} lost`,
    ...(doubledCalls > 0 ? [`${calls(doubledCalls)} done twice`] : []),
    ...(unknownCalls > 0 ? [`${calls(unknownCalls)} with unknown outcome`] : []),
  ]
  const next = queued.length > 0 ? 'heddle up, or a question there, continues it: heddle ps' : 'heddle ps -a'
  return `picked up after a crash: ${parts.join(', ')}    ${next}`
}
