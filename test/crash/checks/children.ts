import { type Outcome, outcomeWord } from '../../../src/domain/run.ts'
import type { Evidence, Moment, Row } from '../evidence.ts'
import { callSteps, type Expect, isStored, isTerminal, json, requestsIn, runsIn, userTexts } from '../facts.ts'

/** I4: each child's result reaches its requester once and is heard once; a join fires once and makes one wake. */
export function checkChildren(evidence: Evidence, expect: Expect): void {
  const { rows } = evidence
  for (const child of childrenIn(evidence)) checkResult(evidence, child, expect)
  const joined = childrenIn(evidence).filter(({ kind }) => kind !== 'task')
  const parents = new Set(joined.map(({ parent_run_id }) => parent_run_id))
  for (const parent of rows.runs.filter(({ id }) => parents.has(id ?? null))) checkJoin(evidence, parent, expect)
  const members = new Set(rows.join_members.map(({ join_id }) => join_id))
  for (const { id } of rows.joins) expect(members.has(id ?? null), 'I4', `join ${id} waits for nobody`)
}

function checkResult(evidence: Evidence, child: Row, expect: Expect): void {
  const { rows } = evidence
  const name = `child ${child['id']}`
  const results = rows.agent_results.filter(({ run_id }) => run_id === child['id'])
  expect(results.length === 1, 'I4', `${name} has ${results.length} results`)
  const turn = rows.turns.find(({ run_id }) => run_id === child['id'])
  const [result] = results
  if (result && turn) {
    expect(result['status'] === child['state'], 'I4', `${name} is ${child['state']}, its result ${result['status']}`)
    const [output, said] = [String(result['output']), String(json(turn, 'response_message_json').content)]
    // One that is no answer begins with how it ended; what was said follows as a quotation.
    const word = outcomeWord[child['state'] as Outcome]
    const isSame = child['state'] === 'completed' ? isStored(output, said) : output.startsWith(`${word}: `)
    expect(isSame, 'I4', `the result of ${name} is not what its turn says`)
  }
  const items = rows.inbox.filter(({ dedupe_key }) => dedupe_key === `result:${child['id']}`)
  expect(items.length === 1, 'I4', `the result of ${name} was delivered ${items.length} times`)
  const [item] = items
  if (!item || !result) return
  const kind = child['share_mode'] === null ? 'result' : 'system'
  const isHome = item['session_id'] === child['requester_session_id'] && item['kind'] === kind
  expect(isHome, 'I4', `the result of ${name} went elsewhere than to whoever asked for it`)
  const { content } = json(item, 'payload_json')
  const isNamed = content.includes(`[agent_result:${result['id']}]`)
  expect(isNamed, 'I4', `what was delivered of ${name} names another result: "${content}"`)
  const hearers = new Set(
    requestsIn(evidence)
      .filter((request) => userTexts(request).includes(content))
      .map(({ runId }) => rows.runs.find(({ id }) => id === runId)?.['session_id']),
  )
  const isHeardThere = [...hearers].every((session) => session === child['requester_session_id'])
  expect(isHeardThere, 'I4', `the result of ${name} was told in a session that did not ask for it`)
}

/** A parent that was cancelled hears nothing; any other is woken once, when all have ended and it knows all results. */
function checkJoin(evidence: Evidence, parent: Row, expect: Expect): void {
  const { rows } = evidence
  const name = `parent ${parent['id']}`
  const children = childrenIn(evidence).filter(
    ({ parent_run_id, kind }) => parent_run_id === parent['id'] && kind !== 'task',
  )
  const sessions = children.map(({ session_id }) => session_id).sort()
  const joined = new Set(
    rows.join_members.filter(({ session_id }) => sessions.includes(session_id ?? null)).map(({ join_id }) => join_id),
  )
  const joins = rows.joins.filter(({ id }) => joined.has(id ?? null))
  const [join] = joins
  if (wasCancelled(parent)) {
    checkClosed(evidence, name, joins, expect)
    return
  }
  expect(joins.length === 1, 'I4', `${name} has ${joins.length} joins, and should have 1`)
  if (!join) return
  const members = rows.join_members.filter(({ join_id }) => join_id === join['id']).map(({ run_id }) => run_id)
  const all = children.map((child) => firstRunOf(evidence, child))
  expect(
    `${members}` === `${all.sort()}`,
    'I4',
    `the join of ${name} waits for ${members}, and its children are ${all}`,
  )
  expect(join['fired_at'] !== null, 'I4', `the join of ${name} never fired`)
  const wakes = rows.inbox.filter(({ dedupe_key }) => dedupe_key === `join:${join['id']}`)
  expect(wakes.length === 1, 'I4', `the join of ${name} made ${wakes.length} wakes`)
  const [wake] = wakes
  if (!wake) return
  expect(wake['session_id'] === parent['session_id'], 'I4', `the join of ${name} woke somebody else`)
  for (const child of children) {
    const item = rows.inbox.find(({ dedupe_key }) => dedupe_key === `result:${child['id']}`)
    // By turns and numbers: a settle reads the clock before it waits for the session of the parent, where numbers are given.
    expect(
      item !== undefined && isBefore(rows, item, wake),
      'I4',
      `${name} was woken before it heard of child ${child['id']}`,
    )
  }
}

/** Whoever was cancelled had no join yet, or one that was closed with it: that wakes nobody. */
function checkClosed({ rows }: Evidence, name: string, joins: Row[], expect: Expect): void {
  expect(joins.length <= 1, 'I4', `${name} was cancelled and has ${joins.length} joins`)
  for (const { id, fired_at } of joins) {
    expect(fired_at !== null, 'I4', `${name} was cancelled and still waits`)
    const wakes = rows.inbox.filter(({ dedupe_key }) => dedupe_key === `join:${id}`)
    expect(wakes.length === 0, 'I4', `${name} was cancelled and woken all the same`)
  }
}

/** I7: a child is there exactly when its parent was told so, and nobody is left whom nobody would hear. */
export function checkFamilies(evidence: Evidence, expect: Expect): void {
  checkOrphans(evidence, expect)
  for (const child of childrenIn(evidence))
    expect(isTerminal(child), 'I7', `child ${child['id']} is left ${child['state']}`)
  for (const end of callSteps(evidence, 'ended').filter(
    ({ name }) => name === 'sessions_spawn' || name === 'spawn_agent',
  )) {
    if (end.status !== 'ok') continue
    const begun = childrenIn(evidence).filter(
      ({ parent_run_id, tool_call_id }) => parent_run_id === end.runId && tool_call_id === end.id,
    )
    const told = end.output.runId ?? end.output.run_id
    const isThat = begun.length === 1 && begun.every((child) => firstRunOf(evidence, child) === told)
    expect(isThat, 'I7', `call ${end.runId}/${end.id} was told of child ${told}: there are ${begun.length}`)
  }
}

/**
 * I7: each child that has not ended has a parent that lives or, after its end, a join that will wake whoever asked; one
 * whose parent was cancelled is to be cancelled itself. Holds at any moment.
 */
export function checkOrphans(moment: Moment, expect: Expect): void {
  const { rows } = moment
  for (const child of childrenIn(moment)) {
    const name = `child ${child['id']}`
    const parent = rows.runs.find(({ id }) => id === child['parent_run_id'])
    expect(parent !== undefined, 'I7', `${name} has no parent`)
    if (!parent) continue
    const isKin = child['root_run_id'] === parent['root_run_id'] && child['depth'] === Number(parent['depth']) + 1
    expect(isKin, 'I7', `${name} belongs to another request than its parent`)
    const isHeard = rows.sessions.some(({ id }) => id === child['requester_session_id'])
    expect(isHeard && child['requester_session_id'] === parent['session_id'], 'I7', `nobody would hear of ${name}`)
    if (isTerminal(child) || !isTerminal(parent)) continue
    if (wasCancelled(parent)) {
      expect(child['cancel_reason'] !== null, 'I7', `${name} goes on although its parent was cancelled`)
      continue
    }
    // A task is waited for by its plan.
    if (child['kind'] === 'task') continue
    const joins = rows.join_members
      .filter(({ session_id }) => session_id === child['session_id'])
      .map(({ join_id }) => join_id)
    const isAwaited = rows.joins.some(({ id, fired_at }) => joins.includes(id ?? null) && fired_at === null)
    expect(isAwaited, 'I7', `${name} is ${child['state']}, its parent has ended and waits for nobody`)
  }
}

/** One run for each session that works for another: the last, since one that begins others goes on in a further run. */
function childrenIn(moment: Moment): Row[] {
  const runs = runsIn(moment).filter(({ parent_run_id }) => parent_run_id !== null)
  return [...Map.groupBy(runs, ({ session_id }) => session_id).values()].flatMap((ofSession) => ofSession.slice(-1))
}

/** The run with which a child began: its requester knows it by that. */
function firstRunOf(moment: Moment, child: Row): string | number | null | undefined {
  const isOfChild = (run: Row) => run['session_id'] === child['session_id'] && run['parent_run_id'] !== null
  return runsIn(moment).find(isOfChild)?.['id']
}

/** Whoever was asked to stop hears nothing more of what it began, even if it was done before it heard of that. */
function wasCancelled(run: Row): boolean {
  return run['state'] === 'cancelled' || run['cancel_reason'] !== null
}

/** Where in its session the turn lies that consumed this. */
/** Whether a session was told one thing before the other: numbers begin again once all was told. */
function isBefore(rows: Moment['rows'], one: Row, other: Row): boolean {
  const [first, second] = [depthOf(rows, one), depthOf(rows, other)]
  return first < second || (first === second && Number(one['seq']) < Number(other['seq']))
}

function depthOf(rows: Moment['rows'], item: Row): number {
  const thread = rows.threads.find(({ turn_id }) => turn_id === item['consumed_by_turn'])
  return Number(thread?.['depth'] ?? Number.NaN)
}
