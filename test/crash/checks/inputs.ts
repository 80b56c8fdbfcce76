import type { Evidence, Row } from '../evidence.ts'
import { type Expect, isStored, isTerminal, json, requestsIn, runsIn, userTexts } from '../facts.ts'

/** I1, I8, I11: what was acknowledged is stored, every input is part of exactly one turn, and no run is without cause. */
export function checkInputs(evidence: Evidence, expect: Expect): void {
  const { rows } = evidence
  checkAcknowledged(evidence, expect)
  for (const item of rows.inbox) checkOutcome(evidence, item, expect)
  const requests = requestsIn(evidence)
  for (const run of runsIn(evidence)) {
    const items = rows.inbox.filter(({ run_id }) => run_id === run['id'])
    const isCaused = items.some(({ wake }) => wake === 1)
    expect(isCaused || !isTerminal(run), 'I11', `run ${run['id']} ran although nothing woke it`)
    if (run['state'] !== 'completed') continue
    const shown = userTexts(requests.findLast(({ runId }) => runId === run['id']))
    for (const item of items) {
      const { content } = json(item, 'payload_json')
      const isShown = shown.some((text) => isStored(text, content))
      expect(isShown, 'I1', `run ${run['id']} completed, but the model was never shown "${content}"`)
    }
  }
}

function checkAcknowledged({ rows, accepted }: Evidence, expect: Expect): void {
  const stored = new Map(rows.inbox.map((item) => [item['id'], item]))
  for (const { accepted: id, content } of accepted) {
    const item = stored.get(id)
    expect(item !== undefined, 'I8', `"${content}" was acknowledged and is not stored`)
    if (item) expect(json(item, 'payload_json').content === content, 'I8', `"${content}" was stored otherwise`)
  }
}

function checkOutcome(evidence: Evidence, item: Row, expect: Expect): void {
  const { rows } = evidence
  const name = `input ${item['id']} "${json(item, 'payload_json').content}"`
  if (isForNobody(evidence, item)) return
  expect(item['consumed_by_turn'] !== null, 'I11', `${name} waits although nothing runs`)
  const told = rows.turns.filter((turn) => queryIds(turn).includes(String(item['id'])))
  expect(told.length === 1, 'I1', `${name} is part of ${told.length} turns`)
  expect(told[0]?.['id'] === item['consumed_by_turn'], 'I1', `${name} is consumed by another turn than tells it`)
  const run = rows.runs.find(({ id }) => id === item['run_id'])
  expect(told[0]?.['run_id'] === run?.['id'], 'I1', `${name} was given to run ${run?.['id']}, and another told it`)
  expect(run?.['session_id'] === item['session_id'], 'I1', `${name} was answered in another session than it came to`)
}

/** Whoever cancels a run does not hear from its children; what they had to say lies there until somebody asks again. */
function isForNobody({ rows }: Evidence, item: Row): boolean {
  if (item['wake'] === 1 || item['consumed_by_turn'] !== null) return false
  const child = rows.runs.find(({ id }) => item['dedupe_key'] === `result:${id}`)
  return rows.runs.some(({ id, cancel_reason }) => id === child?.['parent_run_id'] && cancel_reason !== null)
}

function queryIds(turn: Row): string[] {
  return json(turn, 'query_messages_json').map(({ id }: { id: string }) => id)
}
