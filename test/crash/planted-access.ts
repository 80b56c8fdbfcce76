import { again, type Family, type Planted } from './corrupt.ts'
import type { Said } from './said.ts'

const revocation = `action = 'token.change' AND resource LIKE 'token:%'`

/** What can go wrong with users, tokens, keys and the audit; as in `planted`. */
export const plantedInAccess: [string, string, Family, RegExp, string | Planted][] = [
  ['I8', 'a user that was added and is gone', 'access', /was added and is not stored/, 'DELETE FROM users'],
  [
    'I8',
    'a token that was shown and is another',
    'access',
    /was shown and is not stored/,
    `UPDATE tokens SET hash = ''`,
  ],
  ['S07', 'a revocation that was lost', 'access', /its row does not say so/, 'UPDATE tokens SET revoked_at = NULL'],
  [
    'S07',
    'a revoked token that works again',
    'access',
    /was good after that/,
    { said: (all) => Object.assign(revoked(all), { isGood: true }) },
  ],
  ['S07', 'a revocation that was made anew', 'access', /is other now/, 'UPDATE tokens SET revoked_at = 1'],
  [
    'I8',
    'a key that answers anew',
    'access',
    /answered .*, then "other"/,
    { said: (all) => all.push({ key: 'user:guest guest question', answer: 'other' }) },
  ],
  [
    'I8',
    'a stored answer that is not the first',
    'access',
    /has another answer stored/,
    `UPDATE idempotency SET answer_json = '"other"'`,
  ],
  ['I8', 'a key that was forgotten', 'access', /was answered and is not stored/, 'DELETE FROM idempotency'],
  [
    'I9',
    'a change that is told twice',
    'access',
    /2 times as done/,
    again('audit', "action = 'user.change'", 'seq = 999'),
  ],
  [
    'I9',
    'a line without an outcome, of a process that lived',
    'access',
    /have no outcome/,
    `UPDATE audit SET outcome = 'begun'`,
  ],
  ['S06', 'a revocation without a line', 'access', /revoked without a line/, `DELETE FROM audit WHERE ${revocation}`],
  ['S06', 'a user without a line', 'access', /added without a line/, `DELETE FROM audit WHERE action = 'user.change'`],
  [
    'I8',
    'a line that was changed later',
    'access',
    /of the audit is other now/,
    `UPDATE audit SET principal = 'another' WHERE action = 'user.change'`,
  ],
]

function revoked(all: Said[]): object {
  return all.find((said) => 'revoked' in said) ?? {}
}
