import { describe, expect, test } from 'vitest'
import {
  actingFor,
  checkPrincipalId,
  isOwner,
  owner,
  type Principal,
  parsePrincipal,
  principalText,
} from '../../src/domain/access/principal.ts'

const mia: Principal = { kind: 'user', id: 'mia', role: 'operator' }
const texts: [string, Principal][] = [
  ['owner', owner],
  ['user:mia', mia],
  ['hook:deploy', { kind: 'hook', id: 'deploy' }],
  ['job:7', { kind: 'job', id: '7' }],
  ['run:r1@user:mia', { kind: 'run', id: 'r1', of: mia }],
]

describe('a principal', () => {
  test.each(texts)('has the text form %s, which is read back', (text, principal) => {
    expect(principalText(principal)).toBe(text)
    expect(parsePrincipal(text, () => 'operator')).toEqual(principal)
  })

  test('has no role in its text, so that a user whose row is gone is public', () => {
    expect(parsePrincipal('user:mia', () => undefined)).toEqual({ kind: 'user', id: 'mia', role: 'public' })
  })

  test.each(['', 'owner:1', 'user:', 'user:a@owner', 'run:r1', 'somebody'])('is never read from "%s"', (text) => {
    expect(() => parsePrincipal(text, () => 'admin')).toThrow('names no principal')
  })

  test('that is a run acts for the one who asked, however deep', () => {
    const run: Principal = { kind: 'run', id: 'r2', of: { kind: 'run', id: 'r1', of: mia } }
    expect(actingFor(run)).toEqual(mia)
    expect([isOwner(run), isOwner({ kind: 'run', id: 'r3', of: owner })]).toEqual([false, true])
  })

  test('has an id that its text form can hold', () => {
    expect(checkPrincipalId('mia-2_b')).toBe('mia-2_b')
    for (const id of ['', 'Mia', 'a:b', 'a@b', '-a', 'a'.repeat(41)]) expect(() => checkPrincipalId(id)).toThrow('id')
  })
})
