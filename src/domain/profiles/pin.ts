import type { Action } from '../access/actions.ts'
import { actingFor, type Principal } from '../access/principal.ts'

export const pinScopes = ['session', 'user', 'workspace', 'global'] as const
/** What a pin holds for; the first of these that has one counts. */
export type PinScope = (typeof pinScopes)[number]

/** What a change of a pin needs: two scopes are the caller's own, and others feel the rest, too. */
export function pinAction(scope: PinScope): Action {
  return scope === 'session' || scope === 'user' ? 'pin.set' : 'pin.share'
}

/** Stored value of a pin. */
export interface PinValue {
  profileId: string
  /** The agent by whose name it was pinned. */
  agentId?: string
}

/** A profile that is the default in a scope. */
export interface Pin extends PinValue {
  scope: PinScope
  /** Id of the session or user, or the folder; empty for all. */
  id: string
  /** What it names and no longer exists: such a pin does not count. */
  gone?: 'agent' | 'profile'
  /** The profile that its agent has been registered with since. The pin keeps the one that was confirmed. */
  registeredWith?: string
}

/** The pin that counts, and why each one does or does not. */
export interface EffectivePin {
  pin: Pin | null
  why: string
  others: { pin: Pin; why: string }[]
}

/** Which of these pins counts: that of the narrowest scope whose agent and profile exist. */
export function effectivePin(pins: readonly Pin[]): EffectivePin {
  const inOrder = pinScopes.flatMap((scope) => pins.filter((pin) => pin.scope === scope))
  const winner = inOrder.find(({ gone }) => gone === undefined)
  const others = inOrder.filter((pin) => pin !== winner)
  return {
    pin: winner ?? null,
    why: winner ? whyItCounts(winner, others) : 'nothing is pinned: the default profile is used',
    others: others.map((pin) => ({ pin, why: whyNot(pin, winner) })),
  }
}

const scopeWords: Record<PinScope, string> = {
  session: 'this session',
  user: 'this user',
  workspace: 'this folder',
  global: 'everything',
}

function whyItCounts({ scope, agentId, registeredWith }: Pin, others: readonly Pin[]): string {
  const lost = others.filter(({ gone }) => gone === undefined).map((pin) => scopeWords[pin.scope])
  const before = lost.length === 0 ? '' : `, which comes before the pin of ${lost.join(' and ')}`
  const since = registeredWith === undefined ? '' : `; ${agentId} has ${registeredWith} now, pin it again to use that`
  return `it is pinned for ${scopeWords[scope]}${before}${since}`
}

function whyNot({ gone, agentId, profileId }: Pin, winner: Pin | undefined): string {
  if (gone === 'agent') return `${agentId} is no longer registered`
  if (gone === 'profile') return `the profile ${profileId} no longer exists`
  return `the pin of ${scopeWords[winner?.scope ?? 'session']} comes first`
}

/** Id of the policy record of a pin. */
export function pinRecordId(scope: PinScope, id: string): string {
  return scope === 'global' ? 'profile-pin:global' : `profile-pin:${scope}:${id}`
}

/** Id of a principal in its user pin; undefined for principals that are no person. No user can be called `@owner`. */
export function pinUserId(principal: Principal): string | undefined {
  const actor = actingFor(principal)
  if (actor.kind === 'owner') return '@owner'
  return actor.kind === 'user' ? actor.id : undefined
}
