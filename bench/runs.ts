import type { Figure } from './figures.ts'
import { fillLargeHome } from './large-home.ts'
import { preparePeers } from './peers.ts'
import { measureBoot } from './runs-boot.ts'
import { measureChildren } from './runs-children.ts'
import { measureClaim } from './runs-claim.ts'
import { measureConversation } from './runs-conversation.ts'
import { measureTurns } from './runs-turns.ts'
import type { Scratch } from './scratch.ts'

/** Runs with a model that takes no time, so that what the runtime costs is all there is: against a bare program and peers. */
export async function runs(scratch: Scratch): Promise<Figure[]> {
  const peers = await preparePeers(scratch)
  const large = await fillLargeHome(scratch)
  return [
    ...(await measureTurns(scratch, large)),
    ...(await measureConversation(scratch, peers)),
    ...(await measureChildren(scratch, peers)),
    ...(await measureClaim(scratch)),
    ...(await measureBoot(scratch, large)),
  ]
}
