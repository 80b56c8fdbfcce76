import { type InboxItem, wishesOf } from '../domain/inbox.ts'
import type { Model } from '../domain/model.ts'
import type { Persona } from '../domain/persona.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import { recordEvent } from '../store/events.ts'
import { bindItems, itemsOfRun, unbindItems } from '../store/inbox.ts'
import { isRegistered } from '../store/owners.ts'
import { findPersona } from '../store/personas.ts'
import { countRunning, firstQueued, holdClaimLock, tryClaimLock } from '../store/queue.ts'
import { type Claim, findRun, giveRun, lockRun } from '../store/runs.ts'
import { lockSession } from '../store/sessions.ts'
import type { Tx } from '../store/store.ts'
import { reserve, tryHoldPool } from './budget.ts'
import { bytesBefore } from './context.ts'
import { modelFor, mostOutput, toolSpecs } from './model-request.ts'
import { roleOf } from './role.ts'
import { bytesOfTools, mostUsage } from './weight.ts'
import type { Engine } from './world.ts'

/** So much of what nobody asked for goes on at once. */
const mostAside = 2

/** A run that is ours until we say otherwise or are declared dead. */
export interface Claimed {
  claim: Claim
  run: Run
  session: Session
  persona: Persona | null
  /** What this run answers, in the order it came. */
  items: InboxItem[]
  /** The model call whose cost was set aside together with the claim. */
  reserved: number | undefined
}

/** Who claims, and what it limits itself to. */
export interface Claimant {
  ownerId: string
  /** Only this session's work. */
  sessionId?: string
}

/**
 * Takes the best run that may run now: priority first, then the request that has waited longest. Undefined when there is
 * none, or no slot.
 */
export async function claimNext(engine: Engine, claimant: Claimant): Promise<Claimed | undefined> {
  for (;;) {
    const claimed = await engine.store.write('claim', async (tx) => {
      await holdClaimLock(tx)
      const best = await bestQueued(tx, engine, claimant)
      if (!best) return undefined
      const session = best.sessionId === null ? undefined : await lockSession(tx, best.sessionId)
      return (session && (await take(tx, engine, best, session, claimant.ownerId))) ?? 'gone'
    })
    // Cancelled between the look and the lock: look again.
    if (claimed !== 'gone') return claimed
  }
}

/**
 * Claims the next run in a transaction that holds its session already: an idle session's message is accepted and begun
 * in one commit, and so is what a run's end makes. Does not wait for another process that chooses right now; it will
 * find the run.
 */
export async function claimAtOnce(
  tx: Tx,
  engine: Engine,
  claimant: Claimant,
  held: readonly Session[],
): Promise<Claimed | undefined> {
  if (!(await tryClaimLock(tx))) return undefined
  const best = await bestQueued(tx, engine, claimant)
  const session = best && held.find(({ id }) => id === best.sessionId)
  return session && take(tx, engine, best, session, claimant.ownerId)
}

/** Order and limits live here and nowhere else. The claim lock must be held. */
async function bestQueued(tx: Tx, { limits }: Engine, { ownerId, sessionId }: Claimant): Promise<Run | undefined> {
  // An owner that was declared dead and has not noticed must not take anything: nobody would look after it.
  if (!(await isRegistered(tx, ownerId))) return undefined
  const { running, suspects, children, aside } = await countRunning(tx)
  if (running >= limits.maxRunning) return undefined
  // A run that took an owner down may do it again: such runs go one at a time, so that none takes a neighbour along.
  return firstQueued(tx, {
    ...(sessionId !== undefined && { sessionId }),
    parents: children >= limits.maxChildren,
    innocent: suspects > 0,
    asked: aside >= mostAside,
  })
}

async function take(
  tx: Tx,
  engine: Engine,
  candidate: Run,
  session: Session,
  ownerId: string,
): Promise<Claimed | undefined> {
  // Whoever claims makes all others wait, and must not wait for a request that is busy with its own books.
  const mayReserve = await tryHoldPool(tx, candidate)
  const run = await lockRun(tx, candidate.id)
  if (run?.state !== 'queued') return undefined
  // A run that begins takes all that waits; one that goes on after a crash or a pause keeps the inputs it began with.
  if (run.epoch === 0) await bindItems(tx, session.id, run.id)
  const items = await withoutOthersNews(tx, run, await itemsOfRun(tx, run.id))
  const persona = session.personaId === null ? null : ((await findPersona(tx, session.personaId)) ?? null)
  const parent = run.parentRunId === null ? undefined : await findRun(tx, run.parentRunId)
  const place = { persona, folder: session.folder, ...(parent && { parent }) }
  const wished = asAgent(engine, withWishes(run, items), session.folder)
  const claimed = { ...wished, effectiveTools: engine.toolsFor(wished, place) }
  await giveRun(tx, claimed, ownerId)
  await recordEvent(tx, {
    at: engine.clock.now(),
    kind: 'run.started',
    subject: `run:${run.id}`,
    payload: { session: session.label, folder: session.folder, epoch: run.epoch + 1 },
  })
  return {
    claim: { runId: run.id, ownerId, epoch: run.epoch + 1 },
    run: { ...claimed, state: 'running', ownerId, epoch: run.epoch + 1 },
    session,
    persona,
    items,
    reserved: mayReserve ? await reserveFirst(tx, engine, claimed, { session, persona, items }) : undefined,
  }
}

/**
 * Sets aside what the first call of a run may cost, so that it needs no commit of its own. Where that cannot be, the
 * loop finds out why and says so.
 */
async function reserveFirst(
  tx: Tx,
  engine: Engine,
  run: Run,
  { session, persona, items }: Pick<Claimed, 'session' | 'persona' | 'items'>,
): Promise<number | undefined> {
  const model = run.epoch > 0 || run.cancelReason !== null ? undefined : knownModel(engine, run, persona)
  if (!model) return undefined
  const bytes =
    (await bytesBefore(tx, engine, session, items)) + engine.promptBytes() + bytesOfTools(toolSpecs(engine, run))
  const most = mostUsage(bytes, mostOutput(engine, model, run), model)
  const first = 1
  const call = { runId: run.id, call: first, rootRunId: run.rootRunId, model: model.name }
  return (await reserve(tx, engine, call, most)) ? undefined : first
}

function knownModel(engine: Engine, run: Run, persona: Persona | null): Model | undefined {
  try {
    return modelFor(engine, run, persona)
  } catch {
    return undefined
  }
}

/**
 * A message for one agent is all that agent is told: what others have to say to whoever asked them waits for that one,
 * who alone can decide about it.
 */
async function withoutOthersNews(tx: Tx, run: Run, items: InboxItem[]): Promise<InboxItem[]> {
  const named = wishesOf(items).agent
  const isNews = ({ kind, rootRunId }: InboxItem) =>
    (kind === 'result' || kind === 'join') && rootRunId !== run.rootRunId
  if (run.epoch > 0 || named === undefined || !items.some(isNews)) return items
  const [root] = await Promise.all(items.filter(isNews).map(({ rootRunId }) => findRun(tx, rootRunId ?? '')))
  if (!root || root.agent === named) return items
  await unbindItems(
    tx,
    items.filter(isNews).map(({ id }) => id),
  )
  return items.filter((item) => !isNews(item))
}

/** A run knows from its first claim on who it is; an agent's file may say on which model it thinks. */
function asAgent(engine: Engine, run: Run, folder: string): Run {
  if (run.epoch > 0) return run
  const named = { ...run, agent: run.agent ?? engine.defaultAgent }
  const role = roleOf(engine, named, folder)
  return { ...named, modelRequested: run.modelRequested ?? (role.kind === 'worker' ? role.agent.model : null) }
}

/** Inputs that joined a queued run have their say, too, as long as it has not begun. */
function withWishes(run: Run, items: InboxItem[]): Run {
  if (run.epoch > 0) return run
  const { agent, model, timeoutMs, deadline } = wishesOf(items)
  return {
    ...run,
    agent: agent ?? run.agent,
    modelRequested: model ?? run.modelRequested,
    timeoutMs: timeoutMs ?? run.timeoutMs,
    deadline: deadline ?? run.deadline,
  }
}
