import { ownerText } from '../../../domain/access/principal.ts'
import { lapses } from '../../../domain/approval.ts'
import type { RequestedCall } from '../../../domain/model.ts'
import type { ToolOutcome } from '../../../domain/tools/tool.ts'
import { coverageOf, prepareCall, type ReadyCall, toErrorOutcome } from '../../../tools/call.ts'
import type { ActiveRun } from '../active-run.ts'
import { limitRefusal } from '../calls/tool-execution.ts'
import { approvalReason } from '../policy.ts'
import { isStillAllowed } from '../sender.ts'
import { nestedSpawnRefusal } from '../spawn.ts'
import { type FrozenCall, freezeCall } from './frozen-call.ts'
import { grantFor, type LapsedGrant, lapsedFact } from './grants.ts'
import { limitRedirects, sinkNote, sinkReason } from './sinks.ts'

/** Max questions per reply; further calls that need approval are refused. */
const maxQuestions = 20

/** A question to the user before a call is made. */
export interface CallQuestion extends FrozenCall {
  ready: ReadyCall
  reason: string
  /** Grants for such calls that no longer hold. */
  lapsed: LapsedGrant[]
}

/** Calls of a reply, sorted by what happens to them. */
interface TriagedCalls {
  allowed: ReadyCall[]
  questions: CallQuestion[]
  refused: RefusedCall[]
}

/** A call that is answered without being made, e.g. by a policy or a limit. */
export interface RefusedCall {
  call: RequestedCall
  outcome: ToolOutcome
}

/** Sorts calls into those that run at once (no approval needed, or granted), questions and refusals. */
export async function triageCalls(run: ActiveRun, calls: RequestedCall[]): Promise<TriagedCalls> {
  const { engine, claimed } = run
  const triaged: TriagedCalls = { allowed: [], questions: [], refused: [] }
  // Counted, since a reply may have a thousand calls.
  let spawns = 0
  for (const call of calls) {
    const prepared = prepareCall(call, engine.tools, claimed.run.effectiveTools)
    if ('refused' in prepared) {
      const nested = claimed.run.effectiveTools.includes(call.name)
        ? undefined
        : nestedSpawnRefusal(claimed.run, call.name)
      triaged.refused.push({ call, outcome: nested ?? prepared.refused })
      continue
    }
    if (!(await mayAct(run, prepared))) {
      triaged.refused.push({ call, outcome: notAuthorised(prepared) })
      continue
    }
    const calls = triaged.allowed.length + triaged.questions.length
    const refusal = limitRefusal(run, prepared, { calls, spawns })
    if (refusal) {
      triaged.refused.push({ call, outcome: refusal })
      continue
    }
    const sink = await sinkReason(run, prepared)
    const reason = sink ?? (await approvalReasonFor(run, prepared))
    if (reason === undefined) triaged.allowed.push(await limitRedirects(run, prepared))
    // A call that cannot be made is refused without a question.
    else
      await fileForApproval(run, prepared, { reason, mustShowSources: sink !== undefined }, triaged).catch((error) =>
        triaged.refused.push({ call, outcome: toErrorOutcome(error) }),
      )
    const isFiled = triaged.allowed.length + triaged.questions.length > calls
    if (isFiled && prepared.tool.startsAgent) spawns++
  }
  return triaged
}

/** Whether the run's principal may still do what the call does to our own state: the role may have changed since the claim. */
async function mayAct({ engine, claimed: { run } }: ActiveRun, { tool: { action } }: ReadyCall): Promise<boolean> {
  if (action === undefined || run.principal === ownerText) return true
  return engine.store.read((rows) => isStillAllowed(rows, run.principal, action, run))
}

function notAuthorised({ tool: { name, action } }: ReadyCall): ToolOutcome {
  const error = `the user who asked for this may not do it (${action})`
  return { status: 'forbidden', output: { status: 'forbidden', error, remedy: `continue without ${name}` } }
}

/** Files a call that needs approval: as granted, as a question, or as refused. */
async function fileForApproval(
  run: ActiveRun,
  ready: ReadyCall,
  { reason, mustShowSources }: { reason: string; mustShowSources: boolean },
  triaged: TriagedCalls,
): Promise<void> {
  const coverage = await coverageOf(ready, run.contextOf(ready.call.id))
  const { isGranted, lapsed } = await grantFor(run, coverage, { mustShowSources })
  if (isGranted) {
    const allowed = await limitRedirects(run, ready)
    triaged.allowed.push(lapses(coverage) ? { ...allowed, grant: { ...coverage, mustShowSources } } : allowed)
  } else if (triaged.questions.length === maxQuestions)
    triaged.refused.push({ call: ready.call, outcome: tooManyQuestions })
  else {
    const { facts, ...frozen } = await freezeCall(run, ready, run.label)
    const all = [...lapsed.map(lapsedFact), ...facts]
    triaged.questions.push({ ready, ...frozen, facts: all, reason: reason + sinkNote(ready), lapsed })
  }
}

/** Whether a grant still covers a call: calls made before it may have changed files. */
export async function isStillGranted(run: ActiveRun, ready: ReadyCall): Promise<boolean> {
  if (!ready.grant) return true
  const now = await coverageOf(ready, run.contextOf(ready.call.id))
  return now.cwd === ready.grant.cwd && (await grantFor(run, now, ready.grant)).isGranted
}

/** Why a call needs approval: by the lists of owner, persona and agent, or by the tool's own check of its input. */
async function approvalReasonFor(run: ActiveRun, { call, tool, value }: ReadyCall): Promise<string | undefined> {
  const { engine, claimed } = run
  return approvalReason(engine.policy, call.name, claimed.actor) ?? (await tool.asks?.(value, run.contextOf(call.id)))
}

const tooManyQuestions: ToolOutcome = {
  status: 'error',
  output: {
    status: 'error',
    error: `only ${maxQuestions} calls of one reply can wait for the user`,
    remedy: 'call it again when those are answered',
  },
}
