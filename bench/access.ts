import { measureActor } from './access-actor.ts'
import { measureRemoteClaim } from './access-claim.ts'
import { measureGuard } from './access-guard.ts'
import { measureLists } from './access-lists.ts'
import { measureStatements } from './access-statements.ts'
import type { Figure } from './figures.ts'
import type { Scratch } from './scratch.ts'

/** What a guarded call, knowing who a run is and a plain turn cost, what lists cost in a home of ten thousand sessions, and how soon another process hears of an input. */
export async function access(scratch: Scratch): Promise<Figure[]> {
  return [
    await measureGuard(scratch),
    await measureActor(scratch),
    await measureStatements(scratch),
    ...(await measureLists(scratch)),
    await measureRemoteClaim(scratch),
  ]
}
