import { expect, test } from 'vitest'
import { effectivePin, type Pin, pinScopes, pinUserId } from '../../../src/domain/profiles/pin.ts'

const pin = (scope: Pin['scope'], more: Partial<Pin> = {}): Pin => ({
  scope,
  id: scope === 'global' ? '' : 'x',
  profileId: `profile:${scope}`,
  ...more,
})
const all = pinScopes.map((scope) => pin(scope))

test('a pin of a session comes before one of the user, of the folder and of all, in that order', () => {
  for (const at of all.keys()) expect(effectivePin(all.slice(at).toReversed()).pin).toEqual(all[at])
})

test('without a pin nothing counts, and it says so', () => {
  expect(effectivePin([])).toEqual({
    pin: null,
    why: 'nothing is pinned: the default profile is used',
    others: [],
  })
})

test('each pin is explained: why one counts and why the others do not', () => {
  const { pin: winner, why, others } = effectivePin([pin('global'), pin('user'), pin('session')])
  expect(winner?.scope).toBe('session')
  expect(why).toBe('it is pinned for this session, which comes before the pin of this user and everything')
  expect(others).toEqual([
    { pin: pin('user'), why: 'the pin of this session comes first' },
    { pin: pin('global'), why: 'the pin of this session comes first' },
  ])
})

test('a pin to an agent or a profile that is gone does not count: the next one does', () => {
  const session = pin('session', { agentId: '@writer', gone: 'agent' })
  const user = pin('user', { gone: 'profile' })
  const { pin: winner, why, others } = effectivePin([session, user, pin('workspace')])
  expect(winner).toEqual(pin('workspace'))
  expect(why).toBe('it is pinned for this folder')
  expect(others).toEqual([
    { pin: session, why: '@writer is no longer registered' },
    { pin: user, why: 'the profile profile:user no longer exists' },
  ])
})

test('no user can have the pin of the owner', () => {
  expect(pinUserId({ kind: 'owner' })).not.toBe(pinUserId({ kind: 'user', id: 'owner', role: 'public' }))
  expect(pinUserId({ kind: 'job', id: '7' })).toBeUndefined()
  expect(pinUserId({ kind: 'run', id: 'r', of: { kind: 'user', id: 'mia', role: 'public' } })).toBe('mia')
})
