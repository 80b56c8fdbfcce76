import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { engineOf } from '../src/app/engine.ts'
import { loadConfig } from '../src/config/config.ts'
import { type PinScope, pinRecordId, pinScopes } from '../src/domain/profiles/pin.ts'
import { registryId } from '../src/domain/profiles/registry.ts'
import { newRun } from '../src/domain/run.ts'
import { resolveActor } from '../src/engine/run/actor.ts'
import { answer } from '../src/engine/run/answer.ts'
import { startWorker } from '../src/engine/run/worker/worker.ts'
import type { Runtime } from '../src/engine/runtime.ts'
import { startSession } from '../src/engine/turns/append.ts'
import { ensureHome, homePaths } from '../src/home/home.ts'
import { putPolicy } from '../src/store/rows/policies/policies.ts'
import { fileLocks } from '../src/store/sqlite/owner-locks.ts'
import { type Figure, measurePairs, quantileFigure, ratio } from './figures.ts'
import { openWorld, type Scratch } from './scratch.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

const agents = 1000
const claims = 5000
const warmUp = 500
const profileId = 'profile:bench:v1'

/** What profiles, a large registry and pins cost a claim and a plain turn. */
export async function profiles(scratch: Scratch): Promise<Figure[]> {
  return [await measureClaims(scratch), ...(await measureTurns(scratch))]
}

/** Who a run is: every other run is of a registered agent, the others have a pinned profile. */
async function measureClaims(scratch: Scratch): Promise<Figure> {
  scratch.say(`who a run is, with ${agents} registered agents, pins and profiles`)
  const { runtime, engine, folder } = await openOffice(scratch, 'profile-claims')
  const place = { sessionId: 'session', segmentId: 'segment', folder, label: 'main', principalId: 'owner', now: 1 }
  const session = await runtime.store.write('submit', (tx) => startSession(tx, place))
  await writePolicies(runtime, folder)
  const times: number[] = []
  for (let number = 0; number < claims + warmUp; number++) {
    const run = newRun({ id: 'run', kind: 'turn', via: 'user', sessionId: 'session', now: 1, principal: 'owner' })
    run.agent = number % 2 === 0 ? `agent-${number % agents}` : 'coordinator'
    const time = await runtime.store.write('claim', async (tx) => {
      const since = performance.now()
      const { profile } = await resolveActor(tx, engine, run, session)
      if (profile?.id !== profileId) throw new Error(`${run.agent} has no profile`)
      return performance.now() - since
    })
    if (number >= warmUp) times.push(time)
  }
  await runtime.store.close()
  const detail = `${claims} claims; ${agents} agents in the registry, a pin in each scope`
  return quantileFigure('who a run is, with pins and profile, p99', 'ms', { atMost: 1 }, times, 0.99, detail)
}

/** A plain turn beside a large registry, and one with a pinned profile, each against one where there is nothing of it. */
async function measureTurns(scratch: Scratch): Promise<Figure[]> {
  scratch.say('plain turns with and without profiles')
  const talks = ['without', 'registry', 'pinned'] as const
  const [without, registry, pinned] = await Promise.all(talks.map((name) => openTalk(scratch, `turns-${name}`)))
  if (!without || !registry || !pinned) throw new Error('a talk is missing')
  await writePolicies(registry.runtime, registry.folder, [])
  await writePolicies(pinned.runtime, pinned.folder)
  const rounds = { pairs: 300, warmUp: 30 }
  const plain = await measurePairs({ ours: registry.ask, floor: without.ask }, rounds)
  const limited = await measurePairs({ ours: pinned.ask, floor: without.ask }, rounds)
  await Promise.all([without, registry, pinned].map((talk) => talk.close()))
  const goal = { atMost: 1.03 }
  return [
    ratio('plain turn with a registry / without', goal, plain, [`${agents} agents`, 'none']),
    ratio('turn with a pinned profile / without', null, limited, [`${agents} agents and four pins`, 'none']),
  ]
}

async function openTalk(scratch: Scratch, name: string) {
  const { runtime, engine, folder, paths } = await openOffice(scratch, name)
  const worker = await startWorker(engine, {
    locks: fileLocks(paths.run),
    pid: process.pid,
    onError(error) {
      throw error
    },
  })
  return {
    ...{ runtime, folder },
    async ask() {
      const question = { folder, label: 'main', content: conversation.question, agent: 'coordinator' }
      const { itemId } = await worker.submit(question)
      await answer(engine, folder, itemId, new AbortController().signal)
    },
    async close() {
      await worker.stop()
      await runtime.store.close()
    },
  }
}

async function openOffice(scratch: Scratch, name: string) {
  const home = join(scratch.directory, name)
  await ensureHome(home)
  const paths = homePaths(home)
  const runtime = await openWorld(scratch, name)
  const config = await loadConfig(paths.config, {})
  const settings = { config, models: [zeroLatencyModel()], env: {} }
  const engine = engineOf(runtime, { crash: () => undefined, live: () => undefined }, settings)
  const folder = join(scratch.directory, `${name}-folder`)
  mkdirSync(folder)
  return { runtime, engine, folder, paths }
}

/** A thousand registered agents with one profile, which is pinned in these scopes. */
async function writePolicies(
  { store }: Pick<Runtime, 'store'>,
  folder: string,
  scopes: readonly PinScope[] = pinScopes,
): Promise<void> {
  const shared = { version: 1, updatedAt: 1, updatedBy: 'owner' }
  const lists = { defaultForwardSkills: [], allowedForwardSkills: [], defaultMcpServers: [], allowedMcpServers: [] }
  const entries = Array.from({ length: agents }, (_, number) => ({
    ...{ agentId: `@agent-${number}`, profileId, description: `Does part ${number} of it.`, tags: ['part'], ...lists },
  }))
  const ids = { session: 'session', user: '@owner', workspace: folder, global: '' }
  await store.write('policy', async (tx) => {
    const value = { model: {}, contextWindow: 100_000, allowedSkills: ['writer'] }
    await putPolicy(tx, { type: 'profile', id: profileId, value, ...shared })
    await putPolicy(tx, { type: 'policy', id: registryId, value: { version: 1, agents: entries }, ...shared })
    for (const scope of scopes) {
      const id = pinRecordId(scope, ids[scope])
      await putPolicy(tx, { type: 'policy', id, value: { profileId }, ...shared })
    }
  })
}
