import type { Evidence, Moment, ProviderLine, Row } from '../evidence.ts'
import { type Expect, idOf, requestsIn, runsIn } from '../facts.ts'

/** I12: nothing but a failure, a new owner or an end that cut it off makes a model call be made again. */
export function checkRequests(evidence: Evidence, expect: Expect): void {
  const { rows, provider } = evidence
  const requests = requestsIn(evidence)
  for (const request of requests) {
    const isReserved = rows.usage.some((row) => isOf(row, request))
    expect(isReserved, 'I12', `request ${request.run} was made without a reservation`)
    const same = requests.filter(({ runId, call }) => runId === request.runId && call === request.call).length
    expect(same === 1, 'I12', `request ${request.run} was made ${same} times`)
  }
  for (const run of runsIn(evidence)) {
    const ofRun = rows.usage.filter(({ run_id }) => run_id === run['id'])
    const isMade = (row: Row) => requests.some((request) => isOf(row, request))
    const lost = ofRun.filter(
      (row) => ['lost', 'estimated'].includes(String(row['state'])) || isRefused(row, isMade),
    ).length
    const failures = provider.filter((line) => idOf(line).runId === run['id'] && isFailure(line))
    // Whoever ends a run that nobody runs any more, or stops it, leaves its last call without a later claim.
    const isCutOff = ['cancelled', 'timeout'].includes(String(run['state'])) || isQuarantined(run)
    const cutOff = isCutOff ? 1 : 0
    const most = failures.length + Math.max(0, Number(run['epoch']) - 1) + cutOff
    expect(lost <= most, 'I12', `run ${run['id']} lost ${lost} calls, and ${most} is all that went wrong`)
  }
}

/** I12: the ledger is the provider's log, to the token, or marked; of a lost call what was set aside stands. */
export function checkLedger(evidence: Evidence, expect: Expect): void {
  const { rows, provider } = evidence
  for (const row of rows.usage) {
    expect(row['state'] !== 'reserved', 'I12', `${nameOf(row)} is still reserved although its run has ended`)
    if (row['state'] === 'spent') checkSpent(evidence, row, expect)
    if (row['state'] === 'lost') checkLost(evidence, row, expect)
    if (row['state'] === 'free') checkFree(evidence, row, expect)
  }
  for (const line of provider.filter(({ kind }) => kind === 'answered')) {
    const isThere = rows.usage.some((row) => isOf(row, line))
    expect(isThere, 'I12', `the provider answered ${line.run}, and no row tells it`)
  }
  for (const turn of rows.turns.filter(({ type }) => type === 'normal')) {
    const of = (state: string) => rows.usage.filter((row) => row['run_id'] === turn['run_id'] && row['state'] === state)
    const unsure = JSON.parse(String(turn['unsure_json'] ?? '{}')) as Record<string, number>
    const told = [turn['input_tokens'], turn['output_tokens'], unsure['estimatedOutputTokens'] ?? 0]
    const booked = [
      ...[sum(of('spent'), 'input_tokens'), sum(of('spent'), 'output_tokens')],
      sum(of('estimated'), 'output_tokens'),
    ]
    const isSum = `${told}` === `${booked}` && (unsure['lostOutputTokens'] ?? 0) === sum(of('lost'), 'output_tokens')
    expect(isSum, 'I12', `turn ${turn['id']} does not tell what its run's calls cost`)
  }
}

function checkSpent({ provider }: Evidence, row: Row, expect: Expect): void {
  const answered = provider.find((line) => line.kind === 'answered' && isOf(row, line))?.usage
  const counted = [row['input_tokens'], row['output_tokens'], row['cached_tokens']]
  const logged = answered ? [answered.inputTokens, answered.outputTokens, answered.cachedTokens] : undefined
  expect(`${counted}` === `${logged}`, 'I12', `${nameOf(row)} cost ${counted}, the provider says ${logged}`)
}

/** It was refused, or did not reach the provider. */
function checkFree({ provider }: Evidence, row: Row, expect: Expect): void {
  const isFree = row['input_tokens'] === 0 && row['output_tokens'] === 0
  const isAnswered = provider.some((line) => line.kind === 'answered' && isOf(row, line))
  expect(isFree && !isAnswered, 'I12', `${nameOf(row)} cost nothing, and the provider answered it`)
}

/** A call that the provider did not answer, and that cost nothing. */
function isRefused(row: Row, isMade: (row: Row) => boolean): boolean {
  return row['state'] === 'free' && isMade(row)
}

/** Nobody knows what it cost, and it counts as the most it could. */
function checkLost(evidence: Evidence, row: Row, expect: Expect): void {
  const own = evidence.provider.filter((line) => isOf(row, line))
  const counted = `${row['input_tokens']} and ${row['output_tokens']} tokens`
  const most = requestsIn(evidence).find(({ body }) => body?.max_tokens !== undefined)?.body?.max_tokens
  const isAll = most === undefined || row['output_tokens'] === most
  expect(isAll, 'I12', `${nameOf(row)} was lost, counts as ${counted}, and could have cost ${most} of output`)
  const sent = own.find(({ kind }) => kind === 'answered')?.usage?.inputTokens ?? 1
  const isEnough = Number(row['input_tokens']) >= sent
  expect(isEnough, 'I12', `${nameOf(row)} was lost, counts as ${counted}, and was sent ${sent}`)
}

/** I12: what a request has cost and set aside is never more than it may cost. Holds at any moment. */
export function checkBudget({ rows, budget }: Pick<Evidence, 'rows' | 'budget'>, expect: Expect): void {
  if (budget === undefined) return
  for (const [root, calls] of Map.groupBy(rows.usage, ({ root_run_id }) => root_run_id)) {
    const tokens = sum(calls, 'input_tokens') + sum(calls, 'output_tokens')
    expect(tokens <= budget, 'I12', `request ${root} cost ${tokens} tokens of ${budget}`)
  }
  for (const row of rows.usage) {
    const run = rows.runs.find(({ id }) => id === row['run_id'])
    expect(run?.['root_run_id'] === row['root_run_id'], 'I12', `${nameOf(row)} is paid by another request`)
  }
}

/** I12: the total of a request is what its counted calls cost, each of them once. Holds at any moment. */
export function checkTotals({ rows }: Pick<Moment, 'rows'>, expect: Expect): void {
  const counted = Map.groupBy(
    rows.usage.filter((row) => row['counted'] === 1),
    ({ root_run_id }) => root_run_id,
  )
  for (const root of new Set([...counted.keys(), ...rows.request_totals.map(({ root_run_id }) => root_run_id)])) {
    const calls = counted.get(root) ?? []
    const sums = [sum(calls, 'input_tokens') + sum(calls, 'output_tokens'), calls.filter(isPaid).length]
    const total = rows.request_totals.find((row) => row['root_run_id'] === root)
    const told = [total?.['tokens'], total?.['steps']]
    expect(`${told}` === `${sums}`, 'I12', `the total of request ${root} is ${told}, and its calls make ${sums}`)
    const cost = Math.abs(Number(total?.['cost_usd']) - sum(calls, 'cost_usd'))
    expect(cost < 1e-9, 'I12', `the total of request ${root} is ${cost} dollars beside its calls`)
  }
}

function isPaid({ state }: Row): boolean {
  return state !== 'free'
}

function isQuarantined({ error_json }: Row): boolean {
  return String(error_json).includes('"code":"quarantined"')
}

function isOf(row: Row, line: ProviderLine): boolean {
  const { runId, call } = idOf(line)
  return row['run_id'] === runId && row['call'] === call
}

function isFailure({ kind }: ProviderLine): boolean {
  return kind === 'refused' || kind === 'broken'
}

function nameOf(row: Row): string {
  return `call ${row['run_id']}/${row['call']}`
}

function sum(rows: Moment['rows']['usage'], column: string): number {
  return rows.reduce((total, row) => total + Number(row[column]), 0)
}
