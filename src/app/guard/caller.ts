import type { App } from '../../api/app.ts'
import type { Action } from '../../domain/access/actions.ts'
import { type Reach, rankOf, reachOf } from '../../domain/access/authorize.ts'
import { actingFor, type Principal, principalText } from '../../domain/access/principal.ts'
import type { OwnedBy } from '../../store/rows/access/own-sessions.ts'

/** Caller of an App. */
export interface Caller {
  principal: Principal
  /** Text form of whom it acts for, as rows hold it. */
  text: string
  reach(action: Action): Reach
  /** Filter of a list: everything, all that is not private to the owner, or only what is the caller's own. */
  only(action: Action): OwnedBy
}

/** Max Apps that are kept; more principals than this at once are rare. */
const maxKept = 256

/** Makes an App for each principal with its role and scopes, and keeps it: a request must not build one. */
export function onePerPrincipal(make: (caller: Caller) => App): (principal: Principal) => App {
  const kept = new Map<string, App>()
  return (principal) => {
    const key = keyOf(principal)
    const known = kept.get(key)
    if (known) return known
    if (kept.size >= maxKept) kept.clear()
    const app = make(callerOf(principal))
    kept.set(key, app)
    return app
  }
}

function keyOf(principal: Principal): string {
  const actor = actingFor(principal)
  const text = principalText(principal)
  return actor.kind === 'user' ? `${text} ${actor.role} ${actor.scopes?.join(',') ?? '*'}` : text
}

/** A principal as the user of an App. */
export function callerOf(principal: Principal): Caller {
  const text = principalText(actingFor(principal))
  return {
    principal,
    text,
    reach: (action) => reachOf(principal, action),
    only: (action) => {
      if (reachOf(principal, action) !== 'all') return { principal: text }
      return rankOf(principal) === 'owner' ? {} : { withoutNarrator: true }
    },
  }
}
