import type { Evidence, Row } from '../evidence.ts'
import { type Expect, eventsOf, inTimeIn, isTerminal, json, requestsIn, runsIn } from '../facts.ts'

const deathsUntilQuarantine = 3
/** An owner in another process hears of a cancel at its next sweep; what it ended before that has crossed it. */
const timeToHear = 1500

/** I2: every run ends once, as it may, with one turn that says so, and nothing happens to it after that. */
export function checkRuns(evidence: Evidence, expect: Expect): void {
  const { rows } = evidence
  for (const run of runsIn(evidence)) {
    const id = String(run['id'])
    expect(isTerminal(run), 'I2', `run ${id} is left ${run['state']}`)
    expect(run['owner_id'] === null, 'I2', `run ${id} still has an owner`)
    checkEnding(evidence, run, expect)
    // A summary that a run needed on its way is not its answer.
    const left = rows.turns.filter((turn) => turn['run_id'] === id && turn['type'] === 'normal')
    expect(left.length === 1, 'I2', `run ${id} left ${left.length} turns`)
    expect(left[0]?.['status'] === run['state'], 'I2', `run ${id} is ${run['state']}, its turn ${left[0]?.['status']}`)
    checkToldEnd(evidence, run, expect)
  }
  for (const turn of rows.turns) {
    const isAdded = (event: Row) =>
      event['kind'] === 'turn.added'
        ? event['subject'] === `turn:${turn['id']}`
        : event['kind'] === 'run.ended' && json(event, 'payload_json').turn === turn['id']
    const added = rows.events.filter(isAdded)
    // Nobody is told of turns that are imported without a session.
    const expected = isInSession(evidence, turn) ? 1 : 0
    expect(added.length === expected, 'I2', `turn ${turn['id']} was told ${added.length} times`)
    expect(json(turn, 'response_message_json').content !== '', 'I1', `turn ${turn['id']} says nothing`)
  }
}

function isInSession({ rows }: Evidence, turn: Row): boolean {
  const thread = rows.threads.find(({ turn_id }) => turn_id === turn['id'])
  return rows.sessions.some(({ segment_id }) => segment_id === thread?.['segment_id'])
}

/** I1: the outcome is one that the scenario can have, and a failure says what it is. */
function checkEnding({ rows, ends, silences }: Evidence, run: Row, expect: Expect): void {
  const error = run['error_json'] === null ? undefined : json(run, 'error_json')
  const end = error ? `${run['state']}:${error.code}` : String(run['state'])
  const mayBe = silences >= deathsUntilQuarantine ? [...ends, 'failed:quarantined'] : ends
  expect(mayBe.includes(end), 'I1', `run ${run['id']} ended ${end}, and may end ${mayBe.join(' or ')}`)
  if (!error) return
  const turn = rows.turns.find(({ run_id, type }) => run_id === run['id'] && type === 'normal')
  const said = turn ? json(turn, 'response_message_json').content : ''
  expect(said.includes(error.message), 'I1', `run ${run['id']} ended ${end}, and its turn does not tell why: "${said}"`)
}

function checkToldEnd(evidence: Evidence, run: Row, expect: Expect): void {
  const events = eventsOf(evidence, String(run['id']))
  const told = (kind: string) => events.filter((event) => event['kind'] === kind)
  // One that is claimed in the commit that makes it is never queued.
  for (const [kind, least] of [
    ['run.queued', 0],
    ['run.ended', 1],
  ] as const)
    expect([least, 1].includes(told(kind).length), 'I2', `run ${run['id']} has ${told(kind).length} events ${kind}`)
  const begins = ['run.queued', 'run.started'].includes(String(events[0]?.['kind']))
  expect(begins, 'I2', `run ${run['id']} did something before it was queued or started`)
  // People undo what a run wrote when it has ended.
  const last = events.findLast(({ kind }) => kind !== 'run.undone')
  expect(last?.['kind'] === 'run.ended', 'I2', `run ${run['id']} did something after its end: ${last?.['kind']}`)
  const [end] = told('run.ended')
  if (end) expect(json(end, 'payload_json').state === run['state'], 'I2', `run ${run['id']} was told to end otherwise`)
}

/** I3: each claim of a run has a number and a reason of its own, and no earlier owner asks after a later one has asked. */
export function checkEpochs(evidence: Evidence, expect: Expect): void {
  const requests = inTimeIn(evidence)
  for (const run of runsIn(evidence)) {
    const id = String(run['id'])
    const epoch = Number(run['epoch'])
    const claims = eventsOf(evidence, id)
      .filter(({ kind }) => kind === 'run.started')
      .map((event) => json(event, 'payload_json').epoch)
    const all = Array.from({ length: epoch }, (_, at) => at + 1)
    expect(`${claims}` === `${all}`, 'I3', `run ${id} was claimed ${epoch} times, and told so as ${claims}`)
    const waits = eventsOf(evidence, id).filter(({ kind }) => kind === 'run.waiting').length
    const { silences, stalls } = evidence
    const isCaused = !evidence.isLockTold || epoch <= 1 + waits + silences + stalls
    const causes = `it waited ${waits} times, ${silences} died, ${stalls} fell silent`
    expect(isCaused, 'I3', `run ${id} was claimed ${epoch} times: ${causes}`)
    const asked = requests.filter(({ runId }) => runId === id).map((request) => request.epoch)
    const isRising = asked.every((each, at) => each <= epoch && (at === 0 || each >= (asked[at - 1] ?? 0)))
    expect(isRising, 'I3', `run ${id} asked in epochs ${asked}`)
  }
}

/** A cancel that was acknowledged holds, whoever runs the run next. */
export function checkCancelled(evidence: Evidence, expect: Expect): void {
  const requests = requestsIn(evidence)
  for (const { cancelled: id, state: acknowledged, at, asked } of evidence.cancelled) {
    const run = runsIn(evidence).find((each) => each['id'] === id)
    const hasCrossed = run?.['state'] === 'completed' && Number(run['finished_at']) - at < timeToHear
    const promised = acknowledged !== 'running' ? acknowledged : hasCrossed ? 'completed' : 'cancelled'
    expect(run?.['state'] === promised, 'I1', `run ${id} was ${acknowledged} after a cancel, and is ${run?.['state']}`)
    const epochs = (from: number, to: number) =>
      requests.slice(from, to).flatMap(({ runId, epoch }) => (runId === id ? [epoch] : []))
    const known = Math.max(0, ...epochs(0, asked))
    const later = epochs(asked, requests.length).filter((epoch) => epoch > known)
    expect(later.length === 0, 'I12', `run ${id} was cancelled, and a later owner asked ${later.length} times`)
  }
}

/** I10: the dead leave nothing behind for ever, but for one that died before anyone could know of it. */
export function checkLocks({ at, rows, locks, silences }: Evidence, expect: Expect): void {
  const unknown = at.filter((point) => point.startsWith('owner.before_commit')).length
  // Whoever is still registered is found by the next look at the dead.
  const forgotten = locks.filter((lock) => !rows.owners.some(({ id }) => lock === `owner-${id}.lock`))
  expect(forgotten.length <= unknown, 'I10', `locks of dead owners are left behind: ${forgotten}`)
  expect(rows.owners.length <= silences, 'I10', `${rows.owners.length} owners are left, and ${silences} died`)
}
