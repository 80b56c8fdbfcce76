import type { Selectable } from 'kysely'
import type { ModelRequest } from '../../src/domain/model.ts'
import { isTerminal } from '../../src/domain/run.ts'
import { whenEnded } from '../../src/engine/run/request.ts'
import type { Tables } from '../../src/store/tables.ts'
import type { Simulation } from './simulator.ts'
import { fires } from './simulator-job-checks.ts'
import { asking } from './simulator-model.ts'
import { plans } from './simulator-plan-checks.ts'

const tables = [
  ...(['sessions', 'runs', 'owners', 'inbox', 'agent_results', 'joins', 'join_members', 'usage'] as const),
  ...(['steps', 'turns', 'threads', 'events', 'approvals', 'grants', 'projects', 'tasks', 'task_edges'] as const),
  ...(['cron_jobs', 'cron_fires', 'outbox'] as const),
]

/** Every row of a world, table by table, in the order in which they were stored. */
export async function allRows(simulation: Simulation) {
  const found = tables.map(async (table) => [
    table,
    await simulation.look((rows) => rows.all(rows.build.selectFrom(table).selectAll())),
  ])
  return Object.fromEntries(await Promise.all(found)) as { [T in (typeof tables)[number]]: Selectable<Tables[T]>[] }
}
type Rows = Awaited<ReturnType<typeof allRows>>

/** What must never be once a world is quiet, as far as its rows, its models and its tools can tell. */
export async function violations(simulation: Simulation): Promise<string[]> {
  const rows = await allRows(simulation)
  return [
    ...simulation.troubles,
    ...inputs(simulation, rows),
    ...order(simulation, rows),
    ...runs(rows),
    ...chains(rows),
    ...children(simulation, rows),
    ...plans(rows),
    ...fires(rows, simulation.arrived),
    ...transcripts(rows),
    ...cancelled(simulation, rows),
    ...(await unanswered(simulation)),
    ...budgets(simulation, rows),
    ...calls(simulation, rows),
    ...simulation.outside.requests.flatMap(transcript),
    ...growth(simulation.outside.requests),
    ...rows.owners.map(({ id }) => `owner ${id} is still there`),
  ]
}

/** Every accepted input has exactly one outcome, and nothing that was said is unheard. */
function inputs({ told }: Simulation, { inbox, turns, sessions }: Rows): string[] {
  const heard = Map.groupBy(
    turns.flatMap((turn) => idsIn(turn).map((id) => ({ id, turn }))),
    ({ id }) => id,
  )
  const times = (id: string) => heard.get(id)?.length ?? 0
  const isChild = (id: string) => sessions.some((one) => one.id === id && one.label.includes(':subagent:'))
  return [
    ...told.filter(({ itemId }) => times(itemId) !== 1).map(({ itemId }) => `input ${itemId} has not one outcome`),
    ...inbox
      // Nobody speaks in a child's session: what wakes nobody may stay there unheard.
      .filter((item) => item.consumed_by_turn === null && (item.wake === 1 || !isChild(item.session_id)))
      .map(({ id, kind }) => `${kind} ${id} was never heard`),
    ...inbox
      .filter(({ id, consumed_by_turn: turn }) => turn !== null && heard.get(id)?.[0]?.turn.id !== turn)
      .map(({ id, kind }) => `${kind} ${id} is consumed by a turn that does not tell it`),
    ...inbox.filter(({ id }) => times(id) > 1).map(({ id, kind }) => `${kind} ${id} was heard twice`),
  ]
}

/** A transcript is whole, or all of it is gone, and only after its result was read; the result stays. */
function transcripts({ sessions, runs, turns, steps, inbox, agent_results: results }: Rows): string[] {
  return runs
    .filter(({ cleanup }) => cleanup === 'delete')
    .flatMap((run) => {
      const isRemoved = sessions.some(({ id, removed_at }) => id === run.session_id && removed_at !== null)
      const texts = [
        ...turns.filter(({ run_id }) => run_id === run.id).map((turn) => turn.response_message_json),
        ...steps.filter(({ run_id }) => run_id === run.id).map(({ payload_json }) => payload_json),
        ...inbox.filter(({ run_id }) => run_id === run.id).map(({ payload_json }) => payload_json),
      ]
      const isPartly = texts.some((text) => text.includes('[removed: ') !== isRemoved)
      const result = results.find(({ run_id }) => run_id === run.id)
      return [
        ...(isPartly ? [`the transcript of run ${run.id} is gone in part`] : []),
        ...(isRemoved && result?.processed === 0
          ? [`the transcript of run ${run.id} went before its result was read`]
          : []),
        ...(result?.output.startsWith('[removed: ') ? [`the result of run ${run.id} went with its transcript`] : []),
      ]
    })
}

/** Of two messages, one accepted before the other was sent, the first is told first. */
function order({ told }: Simulation, { turns, threads }: Rows): string[] {
  const depths = new Map(threads.map(({ turn_id, depth }) => [turn_id, depth]))
  const places = new Map(
    turns.flatMap((turn) => idsIn(turn).map((id, at) => [id, (depths.get(turn.id) ?? 0) * 1000 + at])),
  )
  const place = (id: string) => places.get(id) ?? 0
  const messages = told.filter(({ kind }) => kind === 'message')
  return messages.flatMap((first) =>
    messages
      .filter(({ label, from }) => label === first.label && first.to <= from)
      .filter(({ itemId }) => itemId !== first.itemId && place(itemId) < place(first.itemId))
      .map(({ itemId }) => `input ${itemId} overtook ${first.itemId}`),
  )
}

/** Every run ends once, with one turn that says how. */
function runs({ runs, turns, events }: Rows): string[] {
  const told = (kind: string, subject: string) =>
    events.filter((event) => event.kind === kind && event.subject === subject).length
  const first = (runId: string) => events.find(({ subject }) => subject === `run:${runId}`)?.kind
  const endsWith = (runId: string, turnId: string) =>
    events.filter(
      ({ kind, subject, payload_json }) =>
        kind === 'run.ended' && subject === `run:${runId}` && JSON.parse(payload_json).turn === turnId,
    ).length
  return [
    ...runs
      .filter(({ id, state }) => turns.filter((turn) => turn.run_id === id && turn.status === state).length !== 1)
      .map(({ id, state }) => `run ${id}, ${state}, has not one turn of that kind`),
    ...runs.filter(({ state }) => !isTerminal(state)).map(({ id, state }) => `run ${id} is left ${state}`),
    ...runs
      .filter(({ id }) => told('run.ended', `run:${id}`) !== 1)
      .map(({ id }) => `run ${id} was not told to end once`),
    // One that is claimed in the commit that makes it is never queued.
    ...runs
      .filter(({ id }) => told('run.queued', `run:${id}`) > 1 || !first(id)?.match(/^run\.(queued|started)$/))
      .map(({ id }) => `run ${id} did not begin once`),
    ...turns
      .filter(({ id, run_id }) => told('turn.added', `turn:${id}`) + endsWith(run_id, id) !== 1)
      .map(({ id }) => `turn ${id} was not told to be added once`),
    ...turns.filter((turn) => idsIn(turn).length === 0).map(({ id }) => `turn ${id} answers nothing`),
    ...turns
      .filter(({ run_id }) => turns.filter((other) => other.run_id === run_id).length > 1)
      .map(({ run_id }) => `run ${run_id} left several turns`),
  ]
}

/** The turns of a session are a chain, and its head is the last. */
function chains({ sessions, threads }: Rows): string[] {
  return sessions
    .filter((session) => {
      const chain = threads.filter((one) => one.segment_id === session.segment_id).sort((a, b) => a.depth - b.depth)
      const isChain = chain.every(
        (one, at) => one.depth === at + 1 && one.parent_turn_id === (chain[at - 1]?.turn_id ?? null),
      )
      return !isChain || (chain.at(-1)?.turn_id ?? null) !== session.head_turn_id
    })
    .map(({ label }) => `session ${label} is no chain`)
}

/** Each child speaks when it is done, and is heard once; each join waits for all of them, and fires once. */
function children({ cancelled }: Simulation, rows: Rows): string[] {
  const { runs, inbox, agent_results: results, joins, join_members: members } = rows
  const bySession = Map.groupBy(
    runs.filter(({ parent_run_id }) => parent_run_id !== null).sort((a, b) => (a.id < b.id ? -1 : 1)),
    ({ session_id }) => session_id,
  )
  const delivered = (key: string) => inbox.filter(({ dedupe_key }) => dedupe_key === key).length
  const endsOf = (joinId: string) =>
    members
      .filter(({ join_id }) => join_id === joinId)
      .flatMap(({ run_id, done_at }) => [done_at, runs.find(({ id }) => id === run_id)?.finished_at ?? null])
  const isCancelled = (id: string | null | undefined) => {
    const run = runs.find((each) => each.id === id)
    return run?.state === 'cancelled' || run?.cancel_reason !== null
  }
  // Whoever waits for what it began is not woken when it was stopped.
  const isStopped = (id: string | null): boolean => {
    const run = runs.find((each) => each.id === id)
    const isNamed = cancelled.some(({ runId }) => runId === id || runId === run?.root_run_id)
    return run !== undefined && (isNamed || run.cancel_reason !== null || isStopped(run.parent_run_id))
  }
  const wakes = (join: Tables['joins']) => {
    const woken = delivered(`join:${join.id}`)
    return isStopped(join.run_id) ? Math.max(1, woken) : woken
  }
  return [
    // A child that began others speaks when it has heard of them: its session's last run always does.
    ...[...bySession.values()]
      .filter((own) => !results.some(({ run_id }) => run_id === own.at(-1)?.id))
      .map((own) => `child ${own.at(-1)?.id} has no result`),
    ...results
      .filter(({ run_id }) => delivered(`result:${run_id}`) !== 1)
      .map(({ run_id }) => `child ${run_id} was not delivered once`),
    ...joins
      .filter((join) => join.fired_at === null || wakes(join) !== 1)
      .map(({ id }) => `join ${id} did not fire once`),
    ...joins
      .filter(
        ({ id, fired_at }) =>
          delivered(`join:${id}`) > 0 && endsOf(id).some((end) => end === null || end > (fired_at ?? end)),
      )
      .map(({ id }) => `join ${id} did not wait for all its members`),
    // A task is waited for by its plan.
    ...[...bySession]
      .filter(([, own]) => own[0]?.kind !== 'task' && !isCancelled(own[0]?.parent_run_id))
      .filter(([session]) => members.filter(({ session_id }) => session_id === session).length !== 1)
      .map(([, own]) => `child ${own[0]?.id} is not in one join`),
  ]
}

/** Once the end of a run is acknowledged, nothing below it begins, and what was under way there knows. */
function cancelled({ cancelled }: Simulation, { runs }: Rows): string[] {
  const below = (id: string): Rows['runs'] =>
    runs
      .filter(
        ({ parent_run_id, root_run_id }) => parent_run_id === id || (root_run_id === id && parent_run_id === null),
      )
      .filter((run) => run.id !== id)
      .flatMap((run) => [run, ...below(run.id)])
  // Whoever tries a part of the request again wants it after all, and all that comes of it.
  const isWanted = (id: string) => {
    const root = runs.find((run) => run.id === id)?.root_run_id
    return runs.some(({ root_run_id, via }) => root_run_id === root && via === 'retry')
  }
  return cancelled.flatMap(({ runId, at = Number.POSITIVE_INFINITY }) =>
    (isWanted(runId) ? [] : below(runId))
      .filter((run) => run.created_at > at || ((run.finished_at ?? 0) > at && run.cancel_reason === null))
      .map(({ id }) => `run ${id} goes on although ${runId} was cancelled`),
  )
}

/** Whoever waits for the answer to an input gets it. */
async function unanswered({ store, told }: Simulation): Promise<string[]> {
  const answers = told.map(async ({ itemId }) => {
    const tooLong = new AbortController()
    const clock = { now: () => 0, monotonic: () => 0, sleep: async () => tooLong.abort() }
    const answer = await whenEnded({ store, clock, newId: () => '' }, itemId, tooLong.signal)
    return answer ? [] : [`whoever waits for the answer to ${itemId} waits for ever`]
  })
  return (await Promise.all(answers)).flat()
}

/** What was set aside is settled, and no request cost more than it may. */
function budgets({ limits }: Simulation, { usage }: Rows): string[] {
  const spent = Map.groupBy(usage, ({ root_run_id }) => root_run_id)
  return [
    ...usage.filter(({ state }) => state === 'reserved').map(({ run_id, call }) => `call ${run_id}/${call} is open`),
    ...[...spent].flatMap(([root, rows]) => {
      const tokens = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0)
      return tokens > limits.perRequest.tokens ? [`request ${root} cost ${tokens} tokens`] : []
    }),
  ]
}

/** A call begins once, ends at most once, and what must not be repeated is not; no model call is made twice. */
function calls({ outside, limits }: Simulation, { steps, usage, approvals, grants }: Rows): string[] {
  const journalled = steps
    .filter(({ kind }) => kind === 'begun' || kind === 'ended')
    .map(({ run_id, kind, payload_json }) => `${run_id}/${JSON.parse(payload_json).id} has ${kind}`)
  const unsafe = outside.effects
    .filter(({ name }) => name === 'push' || name === asking)
    .map(({ call }) => `${call} was pushed`)
  const asked = outside.requests.map(({ id }) => id.split('/')).map(([run, , call]) => `${run}/${call} was asked`)
  const replies = Map.groupBy(
    steps.filter(({ kind }) => kind === 'reply'),
    ({ run_id }) => run_id,
  )
  const reserved = new Set(usage.map(({ run_id, call }) => `${run_id}/${call} was asked`))
  const allowed = new Set(
    approvals.filter(({ answer }) => answer !== 'no').map((each) => `${each.run_id}/${each.call_id}`),
  )
  const pressed = outside.effects.filter(({ name }) => name === asking).map(({ call }) => call)
  return [
    ...pressed
      .filter((call) => !allowed.has(call) && grants.length === 0)
      .map((call) => `${call} was made although nobody said yes`),
    ...twice([...journalled, ...unsafe, ...asked]).map((call) => `${call} twice`),
    ...asked.filter((call) => !reserved.has(call)).map((call) => `${call} without a reservation`),
    ...[...replies].filter(([, made]) => made.length > limits.maxSteps).map(([run]) => `run ${run} never stopped`),
  ]
}

/** In what a model sees, each call is followed by its answer, all and in order. */
function transcript({ id, messages }: ModelRequest): string[] {
  const problems: string[] = []
  for (let at = 0; at < messages.length; ) {
    const message = messages[at]
    const asked = message?.role === 'assistant' ? message.calls : []
    const answers = messages.slice(at + 1, at + 1 + asked.length)
    const isPaired = asked.every((call, n) => {
      const answer = answers[n]
      return answer?.role === 'tool' && answer.callId === call.id
    })
    if (!isPaired || message?.role === 'tool') problems.push(`request ${id}: message ${at} is not paired`)
    at += 1 + asked.length
  }
  return problems
}

/** Within a run a transcript only grows: what a model has seen is never changed behind its back. */
function growth(requests: ModelRequest[]): string[] {
  const ofRun = Map.groupBy(requests, ({ id }) => id.split('/')[0])
  const callOf = ({ id }: ModelRequest) => Number(id.split('/')[2])
  return [...ofRun].flatMap(([run, asked]) => {
    const shown = asked.sort((a, b) => callOf(a) - callOf(b)).map(({ messages }) => messages)
    const isGrown = shown.every(
      (after, at) =>
        at === 0 || JSON.stringify(after.slice(0, shown[at - 1]?.length)) === JSON.stringify(shown[at - 1]),
    )
    return isGrown ? [] : [`run ${run} was told another story than before`]
  })
}

function twice(texts: string[]): string[] {
  const seen = new Set<string>()
  return texts.filter((text) => seen.size === seen.add(text).size)
}

function idsIn(turn: Tables['turns']): string[] {
  return JSON.parse(turn.query_messages_json).map(({ id }: { id: string }) => id)
}
