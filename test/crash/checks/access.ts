import { createHash } from 'node:crypto'
import type { Evidence, Moment, Row } from '../evidence.ts'
import { type Expect, json } from '../facts.ts'

/** S05-S07, I8: what was said of users, tokens and keys holds, and the audit has each change once. */
export function checkAccess(evidence: Evidence, expect: Expect): void {
  const { rows, admitted, tokens, revoked, moments } = evidence
  for (const { admitted: user } of admitted)
    expect(
      rows.users.some(({ id }) => id === user),
      'I8',
      `user ${user} was added and is not stored`,
    )
  for (const { id, token } of tokens) {
    const row = rows.tokens.find((each) => each['id'] === id)
    expect(row?.['hash'] === sha256(token), 'I8', `token ${id} was shown and is not stored`)
    expect(!JSON.stringify(rows).includes(token), 'S07', `token ${id} is stored as it is`)
  }
  for (const { revoked: id, isGood } of revoked) {
    const row = rows.tokens.find((each) => each['id'] === id)
    expect(typeof row?.['revoked_at'] === 'number', 'S07', `token ${id} was revoked, and its row does not say so`)
    expect(!isGood, 'S07', `token ${id} was revoked, and was good after that`)
  }
  checkAnswers(evidence, expect)
  checkAudited(evidence, expect)
  moments.forEach((moment, at) => {
    checkLines(moment, (holds, invariant, problem) => expect(holds, invariant, `${problem} (moment ${at + 1})`))
    checkStayed(moment, evidence, expect)
  })
  checkLines(evidence, expect)
}

/** I8: a key answers what it answered first, whoever asks again. */
function checkAnswers({ rows, answers }: Evidence, expect: Expect): void {
  for (const { key, answer } of answers) {
    if (answer === null) continue
    const first = answers.find((each) => each.key === key && each.answer !== null)?.answer
    expect(same(first, answer), 'I8', `the key "${key}" answered ${text(first)}, then ${text(answer)}`)
    const row = rows.idempotency.find((each) => `${each['principal']} ${each['key']}` === key)
    expect(row !== undefined, 'I8', `the key "${key}" was answered and is not stored`)
    if (row?.['answer_json'] === null) continue
    if (row) expect(same(json(row, 'answer_json'), answer), 'I8', `the key "${key}" has another answer stored`)
  }
}

/** I9: what was acknowledged is in the audit once; a line that only began is of a process that died or slept. */
function checkAudited({ rows, admitted, tokens, revoked, silences }: Evidence, expect: Expect): void {
  const once = (action: string, resource: string) => {
    const lines = rows.audit.filter((line) => line['action'] === action && line['resource'] === resource)
    const done = lines.filter(({ outcome }) => outcome === 'ok').length
    const begun = lines.filter(({ outcome }) => outcome === 'begun').length
    const isOnce = done === 1 || (done === 0 && begun > 0 && silences > 0)
    expect(isOnce, 'I9', `${action} of ${resource} is in the audit ${done} times as done, ${begun} times as begun`)
  }
  for (const user of new Set(admitted.map(({ admitted }) => admitted))) once('user.change', `user:${user}`)
  for (const id of new Set(revoked.map(({ revoked }) => revoked))) once('token.change', `token:${id}`)
  for (const user of new Set(tokens.map((token) => token.user))) {
    const made = rows.tokens.filter(({ user_id }) => user_id === user).length
    const lines = rows.audit.filter(({ action, resource }) => action === 'token.change' && resource === `user:${user}`)
    const done = lines.filter(({ outcome }) => outcome === 'ok').length
    expect(done <= made && made <= lines.length, 'I9', `${made} tokens were made, and ${lines.length} lines say so`)
  }
  const begun = rows.audit.filter(({ outcome }) => outcome === 'begun').length
  expect(begun <= silences, 'I9', `${begun} lines of the audit have no outcome, and ${silences} died`)
}

/** S06: there is no change of who may do what without a line that began before it. */
function checkLines({ rows }: Moment, expect: Expect): void {
  const has = (action: string, resource: string) =>
    rows.audit.some((line) => line['action'] === action && line['resource'] === resource)
  for (const { id } of rows.users)
    expect(has('user.change', `user:${id}`), 'S06', `user ${id} was added without a line in the audit`)
  for (const { id, user_id, revoked_at } of rows.tokens) {
    expect(has('token.change', `user:${user_id}`), 'S06', `token ${id} was made without a line in the audit`)
    const isTold = revoked_at === null || has('token.change', `token:${id}`)
    expect(isTold, 'S06', `token ${id} was revoked without a line in the audit`)
  }
}

/** S07, I8: a revoked token stays revoked, a line of the audit stays, and a stored answer stays what it is. */
function checkStayed(before: Moment, { rows }: Moment, expect: Expect): void {
  const kept = (table: Row[], row: Row, ...keys: string[]) =>
    table.find((each) => keys.every((key) => each[key] === row[key]))
  for (const token of before.rows.tokens.filter(({ revoked_at }) => revoked_at !== null))
    expect(same(kept(rows.tokens, token, 'id'), token), 'S07', `token ${token['id']} was revoked, and is other now`)
  for (const line of before.rows.audit) {
    const now = kept(rows.audit, line, 'seq')
    const isKept = same({ ...now, outcome: '' }, { ...line, outcome: '' })
    expect(isKept || isTakenBack(line), 'I8', `line ${line['seq']} of the audit is other now: ${text(now)}`)
  }
  for (const request of before.rows.idempotency.filter(({ answer_json }) => answer_json !== null)) {
    const now = kept(rows.idempotency, request, 'principal', 'key')
    expect(same(now, request), 'I8', `the key "${request['key']}" had an answer, and has another now`)
  }
}

/** The owner's line is removed again where the change was refused, as one by a process that slept meanwhile is. */
function isTakenBack({ principal, outcome }: Row): boolean {
  return principal === 'owner' && outcome === 'begun'
}

function sha256(words: string): string {
  return createHash('sha256').update(words).digest('hex')
}

function same(a: unknown, b: unknown): boolean {
  return text(a) === text(b)
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}
