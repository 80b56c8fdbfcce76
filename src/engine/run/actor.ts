import { rankOf } from '../../domain/access/authorize.ts'
import type { RunAccess } from '../../domain/access/principal.ts'
import type { Permissions } from '../../domain/persona.ts'
import type { Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { findPersona } from '../../store/rows/personas.ts'
import { findRun } from '../../store/rows/runs.ts'
import type { Tx } from '../../store/store.ts'
import { chooseModel } from '../model/choose-model.ts'
import { toolSpecs } from '../model/model-request.ts'
import { type AgentRole, roleOf } from '../model/role.ts'
import { readRunPolicies } from '../policies/run-policies.ts'
import type { Engine } from '../runtime.ts'
import type { Actor } from './claimed-run.ts'
import { ceilingOf, effectiveTools } from './policy.ts'
import { accessOf } from './sender.ts'

/** Resolves who a run is, once per claim and in its transaction; nothing looks it up again while the claim lasts. */
export async function resolveActor(tx: Tx, engine: Engine, run: Run, session: Session): Promise<Actor> {
  const { policy, tools: known } = engine
  const persona = session.personaId === null ? null : ((await findPersona(tx, session.personaId)) ?? null)
  const bounds = await Promise.all(session.boundBy.map((id) => findPersona(tx, id)))
  const permissions = [
    ...(persona ? [persona.permissions] : []),
    // A thread that is bound by a persona which is gone may do nothing.
    ...bounds.map((each) => each?.permissions ?? nothing),
    ...(run.options.permissions ?? []),
  ]
  const parent = run.parentRunId === null ? undefined : await findRun(tx, run.parentRunId)
  const access = await accessOf(tx, run, session)
  const { principal } = access
  const policies = await readRunPolicies(tx, engine.registry, {
    sessionId: session.id,
    principal,
    folder: session.folder,
  })
  const agent = run.agent ?? defaultAgentFor(access, engine.defaultAgent)
  const role = roleOf(engine.agents, agent, session.folder)
  const ceiling = ceilingOf(policy, known, run, { permissions, access, parent })
  const tools = effectiveTools(policy, known, run, { role, ceiling })
  const model = chooseModel(engine, { requested: requestedModel(run, role), persona, allow: ceiling.models })
  return { agent, role, persona, permissions, access, policies, ceiling, model, tools: toolSpecs(known, tools) }
}

const nothing: Permissions = { tools: { allow: [] } }

/** The coordinator only delegates: who may start no agents talks with one that works alone. */
function defaultAgentFor({ principal }: RunAccess, configured: string): string {
  const rank = rankOf(principal)
  return rank === 'public' || rank === 'operator' ? 'general' : configured
}

/** The model that was asked for: by the spawning call or the input, else by the agent's file at the first claim. */
function requestedModel({ modelRequested, epoch }: Run, role: AgentRole): string | null {
  return modelRequested ?? (epoch === 0 && role.kind === 'worker' ? role.agent.model : null)
}
