import { measureActor } from './access-actor.ts'
import { measureRemoteClaim } from './access-claim.ts'
import { measureGuard } from './access-guard.ts'
import { measureLists } from './access-lists.ts'
import type { Figure } from './figures.ts'
import type { Scratch } from './scratch.ts'

/** What a guarded call and knowing who a run is cost, what lists cost in a home of ten thousand sessions, and how soon another process hears of an input. */
export async function access(scratch: Scratch): Promise<Figure[]> {
  return [
    await measureGuard(scratch),
    await measureActor(scratch),
    ...(await measureLists(scratch)),
    await measureRemoteClaim(scratch),
  ]
}
