import type { WorkInProgress } from '../domain/app.ts'

/** What became of the work of a process that died, in one sentence. */
export function pickedUp(
  work: Pick<WorkInProgress, 'resumed' | 'quarantined' | 'unknownCalls' | 'doubledCalls'>,
): string {
  const { resumed, quarantined, unknownCalls, doubledCalls } = work
  const runs = resumed.length === 1 ? '1 run resumed' : `${resumed.length} runs resumed`
  const given = quarantined.length === 0 ? '' : `, ${quarantined.length} given up after three crashes`
  const outcome = unknownCalls === 1 ? '1 call with unknown outcome' : `${unknownCalls} calls with unknown outcome`
  // Lost is what is neither resumed nor ended with a turn that says so: recovery leaves nothing else.
  return `picked up after a crash: ${runs}${given}, 0 lost, ${doubledCalls} calls done twice, ${outcome}    heddle ps -a`
}
