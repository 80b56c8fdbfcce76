import { authorize, rankOf } from '../../domain/access/authorize.ts'
import { type Principal, principalText } from '../../domain/access/principal.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { type Pin, type PinScope, type PinValue, pinAction, pinRecordId, pinUserId } from '../../domain/profiles/pin.ts'
import { parseReference } from '../../domain/reference.ts'
import type { Session } from '../../domain/session.ts'
import { takePolicyLock } from '../../store/rows/policies/policies.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Reading, Tx } from '../../store/store.ts'
import type { Runtime } from '../runtime.ts'
import { assertTakesInput, retryIfTaken, startSession } from '../turns/append.ts'
import { notFound, resolveSession } from '../turns/route.ts'
import { findTarget } from '../turns/target.ts'
import { changePolicy, removePolicy } from './change-policy.ts'
import { resolveProfile } from './profiles.ts'
import { findEntry, readRegistry } from './registry.ts'

/** Where a pin is: a scope of a folder, of a session as the caller names it, or of the caller. */
interface PinAddress {
  scope: PinScope
  folder: string
  session: string
  principal: Principal
}

/** Target of a pin: an agent of the registry, or a profile. */
export type PinTarget = { agentId: string } | { profileId: string }

/** A folder's path is part of a key, and keys of PostgreSQL have a limit. */
const maxFolder = 1000

/** Pins a profile, in place of what is pinned there; for a new label it starts the session. */
export function setPin(runtime: Runtime, place: PinAddress, target: PinTarget): Promise<Pin> {
  const fresh = { sessionId: runtime.newId(), segmentId: runtime.newId() }
  const now = runtime.clock.now()
  return retryIfTaken(runtime, 'policy', async (tx) => {
    const id = place.scope === 'session' ? (await openSession(tx, place, { ...fresh, now })).id : idOf(place)
    await takePolicyLock(tx)
    const value = await resolvePin(tx, target)
    await changePolicy(tx, nameOf(place.scope, id), value, { by: principalText(place.principal), now })
    return { scope: place.scope, id, ...value }
  })
}

/** Removes a pin; false if nothing was pinned there. */
export function removePin({ store, clock }: Runtime, place: PinAddress): Promise<boolean> {
  return store.write('policy', async (tx) => {
    const id = place.scope === 'session' ? (await findPinnedSession(tx, place))?.id : idOf(place)
    if (id === undefined) return false
    await takePolicyLock(tx)
    const change = { by: principalText(place.principal), now: clock.now() }
    return (await removePolicy(tx, nameOf(place.scope, id), change)) !== undefined
  })
}

/** The session that a caller names in a folder; undefined while it does not exist. */
export async function findPinnedSession(
  rows: Reading,
  { folder, session }: Pick<PinAddress, 'folder' | 'session'>,
): Promise<Session | undefined> {
  const { kind, id } = parseReference(session)
  if (kind !== null && kind !== 'session') return resolveSession(rows, session, folder)
  const [found] = await findSessions(rows, { label: id.normalize('NFC'), folder })
  return found
}

async function openSession(
  tx: Tx,
  { folder, session: target, principal }: PinAddress,
  fresh: { sessionId: string; segmentId: string; now: number },
): Promise<Session> {
  const { session, ...start } = await findTarget(tx, { folder, target }, principal)
  if (!session)
    return startSession(tx, {
      folder,
      principalId: principalText(principal),
      rank: rankOf(principal),
      ...start,
      ...fresh,
    })
  assertTakesInput(session)
  if (!authorize(principal, pinAction('session'), { principal: session.principalId }))
    throw notFound('session', start.label)
  return session
}

async function resolvePin(tx: Tx, target: PinTarget): Promise<PinValue> {
  if ('profileId' in target) return { profileId: (await resolveProfile(tx, target.profileId)).id }
  const { agentId, profileId } = findEntry((await readRegistry(tx)).registry, target.agentId)
  return { profileId, agentId }
}

function idOf({ scope, folder, principal }: PinAddress): string {
  if (scope === 'global') return ''
  if (scope === 'workspace') {
    if (folder.length <= maxFolder) return folder
    throw new UsageError('the path of this folder is too long for a pin', 'pin it for a session instead', 'bad_folder')
  }
  const user = pinUserId(principal)
  if (user !== undefined) return user
  throw new HeddleError('forbidden', `${principalText(principal)} is not a user`, 'pin it for a session instead')
}

function nameOf(scope: PinScope, id: string) {
  return { type: 'policy', id: pinRecordId(scope, id), called: `the pin of this ${scope}` } as const
}
