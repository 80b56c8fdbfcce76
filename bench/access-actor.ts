import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openAgents } from '../src/app/agents.ts'
import { engineOf } from '../src/app/engine.ts'
import { loadConfig } from '../src/config/config.ts'
import { newRun } from '../src/domain/run.ts'
import { resolveActor } from '../src/engine/run/actor.ts'
import { startSession } from '../src/engine/turns/append.ts'
import { ensureHome, homePaths } from '../src/home/home.ts'
import { type Figure, quantileFigure } from './figures.ts'
import { openWorld, type Scratch } from './scratch.ts'
import { zeroLatencyModel } from './zero-latency.ts'

const agents = 1000
const claims = 5000
const warmUp = 500

/** What a claim pays for knowing who a run is, among a thousand agent files. */
export async function measureActor(scratch: Scratch): Promise<Figure> {
  scratch.say(`who a run is, with ${agents} agents`)
  const home = join(scratch.directory, 'actors')
  await ensureHome(home)
  const paths = homePaths(home)
  mkdirSync(paths.skills, { recursive: true })
  for (let number = 0; number < agents; number++)
    writeFileSync(
      join(paths.skills, `agent-${number}.md`),
      `---\nname: agent-${number}\ndescription: Does part ${number}.\ntools: [read_file, exec]\n---\nDo it.\n`,
    )
  const runtime = await openWorld(scratch, 'actors')
  const config = await loadConfig(paths.config, {})
  const found = openAgents({ paths, config, clock: runtime.clock })
  const engine = engineOf(
    runtime,
    { crash: () => undefined, live: () => undefined },
    { config, models: [zeroLatencyModel()], agents: found, env: {} },
  )
  const folder = join(scratch.directory, 'actors-folder')
  mkdirSync(folder)
  const place = { sessionId: 'session', segmentId: 'segment', folder, label: 'main', principalId: 'owner', now: 1 }
  const session = await runtime.store.write('submit', (tx) => startSession(tx, place))
  const times: number[] = []
  for (let number = 0; number < claims + warmUp; number++) {
    const run = newRun({ id: 'run', kind: 'turn', via: 'user', sessionId: 'session', now: 1, principal: 'owner' })
    run.agent = `agent-${number % agents}`
    const time = await runtime.store.write('claim', async (tx) => {
      const since = performance.now()
      const { role } = await resolveActor(tx, engine, run, session)
      if (role.kind !== 'agent') throw new Error(`${run.agent} was not found`)
      return performance.now() - since
    })
    if (number >= warmUp) times.push(time)
  }
  await runtime.store.close()
  const detail = `${claims} claims of ${agents} agents, each a file; all files are looked at every ten seconds`
  return quantileFigure('who a run is, resolved, p99', 'ms', { atMost: 0.3 }, times, 0.99, detail)
}
