import type { RunApp } from '../api/runs.ts'
import type { Question, SubmitResult } from '../api/views/question.ts'
import { rankOf } from '../domain/access/authorize.ts'
import { isOwner, ownerText } from '../domain/access/principal.ts'
import { clientKey } from '../domain/inbox.ts'
import { isUntrusted } from '../domain/label.ts'
import type { Model } from '../domain/model.ts'
import { asUserCancellation } from '../domain/plan.ts'
import { listAgents } from '../domain/profiles/agent-index.ts'
import type { AgentEntry } from '../domain/profiles/registry.ts'
import { routeToAgent } from '../domain/profiles/route-to-agent.ts'
import { parseReference } from '../domain/reference.ts'
import { type ClampedOptions, clampRunOptions } from '../domain/run-options.ts'
import { labelOfAttachments } from '../engine/files/file-labels.ts'
import { undo } from '../engine/files/undo.ts'
import { chooseModel } from '../engine/model/choose-model.ts'
import { resolvePlan, resolveTask } from '../engine/plans/plan-views.ts'
import { cancelPlan, cancelTask, changeTask } from '../engine/plans/steer-plan.ts'
import { answer } from '../engine/run/answer.ts'
import { cancel } from '../engine/run/cancel.ts'
import { assertAgentUsable, assertPartSupported, defaultAgentProblem, parseAddress } from '../engine/run/check-input.ts'
import { retry } from '../engine/run/retry.ts'
import type { Submission } from '../engine/run/submit.ts'
import { routeToThread } from '../engine/turns/route.ts'
import { viewRunSteps } from '../engine/views/run-steps.ts'
import { listRuns, listUsage, listUsageByDay, resolveRun } from '../engine/views/runs.ts'
import { statusOf } from '../engine/views/status.ts'
import { findTask } from '../store/rows/tasks.ts'
import type { AppAgents } from './agents.ts'
import { readEntries, withEntries } from './engine/registered-agents.ts'
import type { AppEngine } from './engine.ts'
import type { Caller } from './guard/caller.ts'
import { withoutPrivateStep } from './guard/private-views.ts'
import { assertPermissions, type PermissionNames } from './permission-names.ts'
import type { ProcessWorker } from './process-worker.ts'

/** Max characters of the reason for which an agent was chosen. */
const maxReason = 200

/** Context of runs besides the engine. */
interface RunAppContext {
  agents: AppAgents
  worker: ProcessWorker
  /** The default model and the daily budget, as `status` shows them. */
  defaults: { model: string | null; dayLimitUsd: number }
  /** Names that permissions can use. */
  known: PermissionNames
  /** Notes that runs may work in this folder. */
  recordFolder(folder: string): void
  caller: Caller
}

export function runApp(engine: AppEngine, context: RunAppContext): RunApp {
  const { store, clock } = engine
  const { worker, defaults, caller } = context
  return {
    async submit(folder, question) {
      const submission = await toSubmission(engine, context, folder, question)
      const clamped = clampRunOptions(submission, rankOf(caller.principal), engine.limits.timeoutMs)
      const { itemId, runId, session, queuedBehind } = await worker.submit({ ...submission, ...clamped })
      const { agent, routedBy } = submission
      return {
        itemId,
        runId,
        session: session.label,
        ...(queuedBehind !== undefined && { queuedBehind }),
        ...(agent !== undefined && routedBy !== undefined && { routedTo: { agent, why: routedBy } }),
        ...(Object.keys(clamped).length > 0 && { limitedTo: limitedTo(clamped) }),
      }
    },
    answer: (folder, itemId, signal) => answer(engine, folder, itemId, signal),
    runs: (filter) => store.read((rows) => listRuns(rows, clock.now(), { ...filter, ...caller.only('run.list') })),
    cancel: (reference, reason) => cancelByReference(engine, caller, reference, reason),
    retry: (reference) => retryByReference(engine, reference),
    undo: async (name, options) => undo(engine, (await store.read((rows) => resolveRun(rows, name))).id, options),
    usage: (by, options) =>
      store.read((rows) => listUsage(rows, by, clock.now(), { ...options, ...caller.only('run.usage') })),
    usageByDay: (days) => store.read((rows) => listUsageByDay(rows, days, clock.now(), caller.only('run.usage'))),
    async runSteps(run) {
      const view = await store.read((rows) => viewRunSteps(rows, run))
      return isOwner(caller.principal) ? view : { ...view, steps: view.steps.map(withoutPrivateStep) }
    },
    status: (folder, since) =>
      store.read((rows) =>
        statusOf(rows, { folder, since, now: clock.now(), ...defaults, ...caller.only('run.status') }),
      ),
  }
}

/** Checks a question before anything is stored: an unknown agent, model or attachment is an error. */
async function toSubmission(
  engine: AppEngine,
  { agents, known, recordFolder, caller }: RunAppContext,
  folder: string,
  { session, content: text, from, persona, permissions, timeoutSeconds, dedupeKey, ...options }: Question,
): Promise<Submission> {
  // A plain message needs no look at the registry.
  const isNamed = options.agent !== undefined || /^\s*@/.test(text)
  const entries = isNamed || engine.routing === 'tags' ? await readEntries(engine) : []
  const askable = withEntries(agents.askable(folder), entries)
  const named = { ...options, ...parseAddress(text, options.agent, askable) }
  const { content, ...more } = { ...named, ...(named.agent === undefined && routeOf(engine, entries, folder, named)) }
  const model = modelToAsk(engine, more.model)
  const noDefault = more.agent === undefined ? defaultAgentProblem(engine.defaultAgent, askable) : undefined
  if (noDefault) throw noDefault
  if (more.agent !== undefined) assertAgentUsable(more.agent, askable)
  for (const part of more.parts ?? []) assertPartSupported(part, model)
  if (permissions) assertPermissions(permissions, known)
  recordFolder(folder)
  const attached = await labelOfAttachments(engine, folder, more.parts ?? [])
  const parent = from === undefined ? undefined : await engine.store.read((rows) => routeToThread(rows, from, folder))
  return {
    folder,
    label: session,
    content,
    principal: caller.principal,
    ...more,
    ...(isUntrusted(attached) && { trust: attached }),
    ...(parent && { parentTurnId: parent.turnId }),
    ...(persona !== undefined && { personaId: persona }),
    ...(permissions && { permissions: [permissions] }),
    ...(timeoutSeconds !== undefined && { timeoutMs: Math.ceil(timeoutSeconds * 1000) }),
    ...(dedupeKey !== undefined && { dedupeKey: clientKey(dedupeKey, caller.text) }),
  }
}

/** The agent that the words of a message choose, if the owner wants that. What steers a run is for that run. */
function routeOf(
  { routing, agents }: AppEngine,
  entries: readonly AgentEntry[],
  folder: string,
  { content, kind = 'message' }: Pick<Question, 'content' | 'kind'>,
): Pick<Submission, 'agent' | 'routedBy'> {
  if (routing !== 'tags' || kind === 'steer') return {}
  const files = agents.list(folder)
  const triggers = new Map(files.map((agent) => [agent.name, agent.triggers]))
  const all = listAgents(entries, files).map((agent) => ({ ...agent, triggers: triggers.get(agent.name) ?? [] }))
  const route = routeToAgent(content, all)
  return route ? { agent: route.agent, routedBy: route.why.slice(0, maxReason) } : {}
}

function limitedTo({ timeoutMs, ...options }: ClampedOptions): NonNullable<SubmitResult['limitedTo']> {
  return { ...options, ...(timeoutMs !== undefined && { timeoutSeconds: timeoutMs / 1000 }) }
}

/** The model that will answer; throws if the one that is asked for is unknown, although another would take its place. */
function modelToAsk(engine: AppEngine, requested: string | undefined): Model {
  const { name, clamped } = chooseModel(engine, {
    requested: requested ?? null,
    allow: { owner: engine.policy.models },
  })
  const isUnknown = clamped && requested !== undefined && !engine.knowsModel(requested)
  return engine.model(isUnknown || name === null ? (requested ?? engine.defaultModel) : name)
}

async function cancelByReference(engine: AppEngine, caller: Caller, reference: string, reason?: string) {
  const { store } = engine
  const { kind } = parseReference(reference)
  if (kind === 'plan') {
    const plan = await store.read((rows) => resolvePlan(rows, reference))
    return { id: String(plan.id), state: await cancelPlan(engine, plan, reason ?? stoppedBy(caller)) }
  }
  if (kind === 'task') {
    const task = await store.read((rows) => resolveTask(rows, reference))
    return { id: String(task.id), state: await cancelTask(engine, task, reason ?? stoppedBy(caller)) }
  }
  const { id, taskId, principal } = await store.read((rows) => resolveRun(rows, reference))
  const why = reason ?? stoppedBy(caller, principal)
  return { id, state: await cancel(engine, id, taskId === null ? why : asUserCancellation(why)) }
}

/** Who stopped something, in the words of the user for whom it was done. */
function stoppedBy({ text }: Caller, user?: string): string {
  if (text === user) return 'stopped by you'
  return `stopped by ${text === ownerText ? 'the owner' : text.replace(/^user:/, '')}`
}

async function retryByReference(engine: AppEngine, reference: string): Promise<{ runId: string | null }> {
  const { store } = engine
  const task = await store.read(async (rows) => {
    if (parseReference(reference).kind === 'task') return resolveTask(rows, reference)
    const { taskId } = await resolveRun(rows, reference)
    return taskId === null ? undefined : findTask(rows, taskId)
  })
  if (task) return { runId: (await changeTask(engine, task, { action: 'retry' })).runId }
  return retry(engine, (await store.read((rows) => resolveRun(rows, reference))).id)
}
