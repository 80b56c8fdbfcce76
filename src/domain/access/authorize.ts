import { HeddleError } from '../errors.ts'
import { type Action, type ActionRow, actions, type Rank } from './actions.ts'
import { actingFor, type Principal, principalText } from './principal.ts'

/** Object of an action: something that belongs to a session's principal. Undefined for what is the caller's own. */
export interface Resource {
  /** Text form of the principal whose it is. */
  principal: string
  /** It is shown to the owner only, whatever the rank: the narrator's work. */
  isPrivate?: boolean
}

/** How far an action of a principal reaches: nowhere, to its own things, or to everything. */
export type Reach = 'none' | 'own' | 'all'

const ranks: Record<Rank, number> = { public: 0, operator: 1, admin: 2, owner: 3 }

/** Whether the principal may do this. Pure: the principal carries its role, the table has the rest. */
export function authorize(principal: Principal, action: Action, resource?: Resource): boolean {
  const reach = reachOf(principal, action)
  if (resource?.isPrivate && rankOf(principal) !== 'owner') return false
  return reach === 'all' || (reach === 'own' && (resource === undefined || isOwn(principal, resource)))
}

/** How far an action reaches: a list of a principal that reaches its own things only is filtered by it. */
export function reachOf(principal: Principal, action: Action): Reach {
  const actor = actingFor(principal)
  const row: ActionRow = actions[action]
  if (actor.kind === 'user' && actor.scopes && !actor.scopes.includes(row.scope)) return 'none'
  const rank = ranks[rankOf(actor)]
  if (rank >= ranks[row.any]) return 'all'
  return rank >= ranks[row.own] ? 'own' : 'none'
}

function isOwn(principal: Principal, resource: Resource): boolean {
  return resource.principal === principalText(actingFor(principal))
}

/** Hooks and jobs have the rights of the public: what they may do more is decided by the code that lets them in. */
export function rankOf(principal: Principal): Rank {
  const actor = actingFor(principal)
  if (actor.kind === 'owner') return 'owner'
  return actor.kind === 'user' ? actor.role : 'public'
}

/** Refusal of an action that is not the principal's to do at all. */
export function forbidden(principal: Principal, action: Action): HeddleError {
  const { own, any, scope } = actions[action]
  const actor = actingFor(principal)
  const lacksScope = actor.kind === 'user' && actor.scopes !== undefined && !actor.scopes.includes(scope)
  const least = ranks[rankOf(principal)] < ranks[own] ? own : any
  return new HeddleError(
    'forbidden',
    `${principalText(actor)} may not do this (${action})`,
    lacksScope
      ? `it needs a token with the scope ${scope}`
      : `it needs ${least === 'owner' ? 'the owner' : `the role ${least}`}; the table is in docs/guide/access.md`,
  )
}
