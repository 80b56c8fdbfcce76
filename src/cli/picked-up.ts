import type { WorkInProgress } from '../domain/app.ts'

type PickedUp = Pick<WorkInProgress, 'resumed' | 'queued' | 'quarantined' | 'unknownCalls' | 'doubledCalls'>

/** What became of the work of a process that died, in one sentence; undefined when none had. */
export function pickedUp(work: PickedUp): string | undefined {
  const { resumed, queued, quarantined, unknownCalls, doubledCalls } = work
  if (resumed.length + queued.length + quarantined.length === 0) return undefined
  const runs = (ids: string[]) => (ids.length === 1 ? '1 run' : `${ids.length} runs`)
  const parts = [
    ...(resumed.length > 0 ? [`${runs(resumed)} resumed`] : []),
    ...(queued.length > 0
      ? [`${runs(queued)} of another session ${queued.length === 1 ? 'is' : 'are'} queued again`]
      : []),
    ...(quarantined.length > 0 ? [`${quarantined.length} given up after three crashes`] : []),
    // Lost is what is neither queued again nor ended with a turn that says so: recovery leaves nothing else.
    '0 lost',
    `${doubledCalls} calls done twice`,
    unknownCalls === 1 ? '1 call with unknown outcome' : `${unknownCalls} calls with unknown outcome`,
  ]
  const next = queued.length > 0 ? 'heddle up, or a question there, goes on with it: heddle ps' : 'heddle ps -a'
  return `picked up after a crash: ${parts.join(', ')}    ${next}`
}
