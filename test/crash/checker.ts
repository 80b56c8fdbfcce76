import { type ProviderLine, type Row, readEvidence } from './evidence.ts'

// `node checker.ts evidence.json` prints {ok, problems}. Each problem begins with the invariant that is broken, as
// numbered in SAFETY. What it says of a run is worked out anew from rows and logs, never with the engine's own code.

const terminal = ['completed', 'failed', 'timeout', 'cancelled']
const problems: string[] = []
const evidence = await readEvidence(process.argv[2] ?? '')
const { rows, provider, tools } = evidence
const runs = rows.runs.filter(({ kind }) => kind !== 'import')
const requests = provider.filter(({ kind }) => kind === 'received').map((line) => ({ ...line, ...idOf(line) }))

checkInputs()
checkRuns()
checkSteps()
checkChains()
for (const request of requests) checkTranscript(request)
for (const run of runs) checkGrowth(String(run['id']))
checkEffects()
checkCancelled()
checkRequests()
checkLedger()
checkLocks()
process.stdout.write(`${JSON.stringify({ ok: problems.length === 0, problems })}\n`)
process.exit(0)

function expect(holds: boolean, invariant: string, problem: string): void {
  if (!holds) problems.push(`${invariant}: ${problem}`)
}

/** I1, I8, I11: what was acknowledged is stored, and every input is part of exactly one turn. */
function checkInputs(): void {
  const stored = new Map(rows.inbox.map((item) => [item['id'], item]))
  for (const { accepted, content } of evidence.accepted) {
    const item = stored.get(accepted)
    expect(item !== undefined, 'I8', `"${content}" was acknowledged and is not stored`)
    if (item) expect(json(item, 'payload_json').content === content, 'I8', `"${content}" was stored otherwise`)
  }
  for (const item of rows.inbox) {
    const name = `input ${item['id']} "${json(item, 'payload_json').content}"`
    expect(item['consumed_by_turn'] !== null, 'I11', `${name} waits although nothing runs`)
    const told = rows.turns.filter((turn) => queryIds(turn).includes(String(item['id'])))
    expect(told.length === 1, 'I1', `${name} is part of ${told.length} turns`)
    expect(told[0]?.['id'] === item['consumed_by_turn'], 'I1', `${name} is consumed by another turn than tells it`)
  }
  for (const run of runs.filter(({ state }) => state === 'completed')) {
    const items = rows.inbox.filter(({ run_id }) => run_id === run['id'])
    const shown = userTexts(requests.findLast(({ runId }) => runId === run['id']))
    for (const item of items) {
      const { content } = json(item, 'payload_json')
      expect(shown.includes(content), 'I1', `run ${run['id']} completed, but the model was never shown "${content}"`)
    }
  }
}

/** I2: every run ends once, with one turn. */
function checkRuns(): void {
  for (const run of runs) {
    const id = String(run['id'])
    expect(terminal.includes(String(run['state'])), 'I2', `run ${id} is left ${run['state']}`)
    const left = rows.turns.filter((turn) => turn['run_id'] === id)
    expect(left.length === 1, 'I2', `run ${id} left ${left.length} turns`)
    expect(left[0]?.['status'] === run['state'], 'I2', `run ${id} is ${run['state']}, its turn ${left[0]?.['status']}`)
    const ends = rows.events.filter(({ kind, subject }) => kind === 'run.ended' && subject === `run:${id}`)
    expect(ends.length === 1, 'I2', `run ${id} was told to have ended ${ends.length} times`)
  }
  const owned = rows.runs.filter(({ owner_id }) => owner_id !== null)
  expect(owned.length === 0, 'I2', `${owned.length} runs still have an owner`)
  for (const turn of rows.turns) {
    const added = rows.events.filter(({ kind, subject }) => kind === 'turn.added' && subject === `turn:${turn['id']}`)
    expect(added.length === 1, 'I2', `turn ${turn['id']} was told ${added.length} times`)
    expect(json(turn, 'response_message_json').content !== '', 'I1', `turn ${turn['id']} says nothing`)
  }
}

/** I3: a call begins once and ends at most once, and no earlier owner asks after a later one. */
function checkSteps(): void {
  for (const kind of ['begun', 'ended']) {
    const seen = new Set<string>()
    for (const step of rows.steps.filter((each) => each['kind'] === kind)) {
      const call = `${step['run_id']} ${json(step, 'payload_json').id}`
      expect(!seen.has(call), 'I3', `call ${call} has ${kind} twice`)
      seen.add(call)
    }
  }
  for (const run of runs) {
    const epochs = requests.filter(({ runId }) => runId === run['id']).map(({ epoch }) => epoch)
    const isRising = epochs.every((epoch, at) => at === 0 || epoch >= (epochs[at - 1] ?? 0))
    expect(isRising, 'I3', `run ${run['id']} asked in epochs ${epochs}`)
  }
}

/** I5: the turns of a session are a chain, and its head is the last. */
function checkChains(): void {
  for (const session of rows.sessions) {
    const chain = rows.threads.filter(({ segment_id }) => segment_id === session['segment_id'])
    chain.forEach((thread, at) => {
      expect(thread['depth'] === at + 1, 'I5', `session ${session['label']} has depth ${thread['depth']} at ${at + 1}`)
      const parent = chain[at - 1]?.['turn_id'] ?? null
      expect(thread['parent_turn_id'] === parent, 'I5', `turn ${thread['turn_id']} does not follow the one before it`)
    })
    const last = chain.at(-1)?.['turn_id'] ?? null
    expect(session['head_turn_id'] === last, 'I5', `the head of ${session['label']} is not its last turn`)
  }
  expect(rows.threads.length === rows.turns.length, 'I5', 'a turn has no place, or two')
}

/** I6: each assistant message with calls is followed by the answers to them, all and in order; no input is told twice. */
function checkTranscript(request: ProviderLine): void {
  const messages = request.body?.messages ?? []
  for (let at = 0; at < messages.length; ) {
    const calls = messages[at]?.tool_calls ?? []
    const answers = messages.slice(at + 1, at + 1 + calls.length).map(({ tool_call_id: id }) => id)
    const isPaired = calls.every(({ id }, which) => id === answers[which])
    expect(isPaired, 'I6', `request ${request.run}: calls ${calls.map(({ id }) => id)} are answered by ${answers}`)
    expect(messages[at]?.role !== 'tool', 'I6', `request ${request.run}: an answer to no call`)
    at += 1 + calls.length
  }
  const texts = userTexts(request)
  expect(new Set(texts).size === texts.length, 'I6', `request ${request.run} tells an input twice: ${texts}`)
}

/** I6: within a run a transcript only grows: what the model has seen is never changed behind its back. */
function checkGrowth(run: string): void {
  const transcripts = requests.filter(({ runId }) => runId === run).map(({ body }) => body?.messages ?? [])
  transcripts.slice(1).forEach((after, at) => {
    const before = transcripts[at] ?? []
    const isGrown = JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before)
    expect(isGrown, 'I6', `run ${run}: its request ${at + 2} changes what request ${at + 1} told`)
  })
}

/** I9: effects happen as their class promises, and what nobody knows is told. */
function checkEffects(): void {
  const ends = rows.steps.filter(({ kind }) => kind === 'ended')
  for (const step of rows.steps.filter(({ kind }) => kind === 'begun')) {
    const { id, name, effect } = json(step, 'payload_json')
    const call = `${name} ${step['run_id']}/${id}`
    const end = ends.find((each) => each['run_id'] === step['run_id'] && json(each, 'payload_json').id === id)
    const status = end && json(end, 'payload_json').status
    const times = tools.filter(({ runId, callId }) => runId === step['run_id'] && callId === id).length
    if (effect === 'unsafe') {
      expect(times <= 1, 'I9', `${call} happened ${times} times`)
      if (status === 'unknown') checkUnknownIsTold(String(step['run_id']), id)
    }
    if (effect !== 'transactional' && status === 'ok') expect(times > 0, 'I9', `${call} ended well and never happened`)
    if (effect === 'transactional') {
      const notes = rows.events.filter(
        (event) => event['subject'] === `run:${step['run_id']}` && json(event, 'payload_json').note === id,
      )
      expect(notes.length === (status === 'ok' ? 1 : 0), 'I9', `${call} is ${status} and wrote ${notes.length} rows`)
    }
  }
  for (const { name, runId, callId } of tools) {
    const isBegun = rows.steps.some(
      (step) => step['kind'] === 'begun' && step['run_id'] === runId && json(step, 'payload_json').id === callId,
    )
    expect(isBegun, 'I9', `${name} ${runId}/${callId} happened before it was journalled`)
  }
}

function checkUnknownIsTold(run: string, callId: string): void {
  const answers = requests
    .filter(({ runId }) => runId === run)
    .flatMap(({ body }) => body?.messages.filter((message) => message.tool_call_id === callId) ?? [])
  const isCompleted = runs.some(({ id, state }) => id === run && state === 'completed')
  expect(!isCompleted || answers.length > 0, 'I9', `call ${run}/${callId}: nobody was told that it is unknown`)
  const areHonest = answers.every(({ content }) => JSON.stringify(content).includes('unknown'))
  expect(areHonest, 'I9', `call ${run}/${callId} is unknown, and the model was told otherwise`)
}

/** A cancel that was acknowledged holds, whoever runs the run next. */
function checkCancelled(): void {
  for (const { cancelled } of evidence.cancelled) {
    const state = runs.find(({ id }) => id === cancelled)?.['state']
    const later = requests.filter(({ runId, epoch }) => runId === cancelled && epoch > 1)
    expect(later.length === 0, 'I12', `run ${cancelled} was cancelled, and a later owner asked ${later.length} times`)
    expect(state === 'cancelled', 'I1', `the cancel of run ${cancelled} was acknowledged, and it is ${state}`)
  }
}

/** I12: nothing but a failure, a kill or an end that cut it off makes a model call be made again. */
function checkRequests(): void {
  for (const request of requests) {
    const isReserved = rows.usage.some(({ run_id, call }) => run_id === request.runId && call === request.call)
    expect(isReserved, 'I12', `request ${request.run} was made without a reservation`)
    const same = requests.filter(({ runId, call }) => runId === request.runId && call === request.call).length
    expect(same === 1, 'I12', `request ${request.run} was made ${same} times`)
  }
  for (const run of runs) {
    const ofRun = rows.usage.filter(({ run_id }) => run_id === run['id'])
    const lost = ofRun.filter(({ state }) => state === 'lost').length
    const failures = provider.filter(
      (line) => idOf(line).runId === run['id'] && ['refused', 'broken'].includes(line.kind),
    )
    const cutOff = run['state'] === 'cancelled' || run['state'] === 'timeout' ? 1 : 0
    const most = failures.length + evidence.kills + cutOff
    expect(lost <= most, 'I12', `run ${run['id']} lost ${lost} calls, and ${most} is all that went wrong`)
  }
}

/** I12: the ledger is the provider's log, to the token. */
function checkLedger(): void {
  for (const row of rows.usage) {
    const name = `call ${row['run_id']}/${row['call']}`
    const isOfRow = (line: ProviderLine) => idOf(line).runId === row['run_id'] && idOf(line).call === row['call']
    const answered = provider.find((line) => line.kind === 'answered' && isOfRow(line))?.usage
    const counted = [row['input_tokens'], row['output_tokens'], row['cached_tokens']]
    const logged = answered ? [answered.inputTokens, answered.outputTokens, answered.cachedTokens] : undefined
    expect(row['state'] !== 'reserved', 'I12', `${name} is still reserved although its run has ended`)
    if (row['state'] === 'spent')
      expect(`${counted}` === `${logged}`, 'I12', `${name} cost ${counted}, the provider says ${logged}`)
    if (row['state'] === 'lost' && logged)
      expect(Number(counted[0]) >= (logged[0] ?? 0), 'I12', `${name} was lost at ${counted}, and really cost ${logged}`)
  }
  for (const line of provider.filter(({ kind }) => kind === 'answered')) {
    const { runId, call } = idOf(line)
    const isThere = rows.usage.some((row) => row['run_id'] === runId && row['call'] === call)
    expect(isThere, 'I12', `the provider answered ${line.run}, and no row tells it`)
  }
  for (const turn of rows.turns) {
    const ofRun = rows.usage.filter(({ run_id }) => run_id === turn['run_id'])
    const sum = (key: string) => ofRun.reduce((total, row) => total + Number(row[key]), 0)
    const isSum = turn['input_tokens'] === sum('input_tokens') && turn['output_tokens'] === sum('output_tokens')
    expect(isSum, 'I12', `turn ${turn['id']} does not tell what its run's calls cost`)
  }
}

/** I10: the dead leave no files, but for one that died before anyone could know of it. */
function checkLocks(): void {
  const unknown = evidence.at.filter((point) => point.startsWith('owner.before_commit')).length
  expect(evidence.locks.length <= unknown, 'I10', `locks of dead owners are left behind: ${evidence.locks}`)
}

/** `run/epoch/call`, as the header of each request says. */
function idOf({ run }: ProviderLine): { runId: string; epoch: number; call: number } {
  const [runId = '', epoch, call] = (run ?? '').split('/')
  return { runId, epoch: Number(epoch), call: Number(call) }
}

function userTexts(request: ProviderLine | undefined): string[] {
  const users = request?.body?.messages.filter(({ role }) => role === 'user') ?? []
  return users.map(({ content }) =>
    typeof content === 'string' ? content : (content as { text: string }[]).map(({ text }) => text).join(''),
  )
}

function queryIds(turn: Row): string[] {
  return json(turn, 'query_messages_json').map(({ id }: { id: string }) => id)
}

// biome-ignore lint/suspicious/noExplicitAny: the checker knows the columns' shapes from the schema alone.
function json(row: Row, column: string): any {
  return JSON.parse(String(row[column]))
}
