import fc from 'fast-check'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { ModelFailure } from '../../src/domain/model.ts'
import { type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts'
import { insertUser } from '../../src/store/rows/access/users.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { putPersona } from '../../src/store/rows/personas.ts'
import { databases } from '../setup/places.ts'
import { testTool } from './engine.ts'
import { acts, models, profileIds } from './narrowing-acts.ts'
import { lotte, mia, World, workerId } from './narrowing-world.ts'
import { register, writeProfile } from './policies.ts'
import { agentNamed, newOffice, type Office } from './test-team.ts'

const downForLong = new ModelFailure('down', 'it is down', 'wait', { retry: 'later', retryAfter: 60_000 })

describe.each(databases)('random trees of runs on %s', (database) => {
  let office: Office
  let allModels: ScriptedModel[] = []
  beforeAll(async () => {
    const others = models.slice(1).map((name) => scriptedModel(() => ({ text: `from ${name}` }), { name }))
    const model = scriptedModel(
      ({ messages }) => {
        if (messages.at(-1)?.content.startsWith('fall')) throw downForLong
        return { text: 'from main' }
      },
      { name: 'main' },
    )
    const agents = [
      agentNamed('writer', { tools: ['read_file', 'write_file', 'push', 'memory_store'], model: 'big' }),
      agentNamed('reader', { tools: ['read_file', 'web_fetch'] }),
      agentNamed('helper', { tools: ['read_file', 'push', 'delegate'] }),
    ]
    const push = testTool('push', 'unsafe', () => 0)
    office = await newOffice(database, {}, { model, others, agents, tools: [push], config: wide })
    allModels = [model, ...others]
    await office.stop()
    await office.engine.store.write('owner', async (tx) => {
      await insertOwner(tx, { id: workerId, pid: 1, startedAt: 1, beatAt: 1 })
      await insertUser(tx, mia(null))
      await putPersona(tx, lotte({}), 1)
    })
    for (const id of profileIds) await writeProfile(office.engine, id, { model: {} })
    await register(office.engine, { agentId: '@poet', profileId: 'profile:a', allowedForwardSkills: ['reader'] })
  })
  afterAll(() => office.remove())

  test('tools, models, skills, folder, trust and budget only narrow from parent to child, and from claim to claim', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (history) => {
        const world = new World(office)
        for (const act of history) await world.play(act)
        for (let left = 8; left > 0; left--) await world.play({ act: 'claim' })
        for (let left = 12; left > 0; left--) await world.play({ act: 'execute', pick: left })
        world.checkRequests(allModels)
      }),
      { numRuns: database === 'sqlite' ? 40 : 10 },
    )
  })
})

function wide(config: Parameters<NonNullable<Parameters<typeof newOffice>[2]>['config'] & object>[0]): void {
  config.agent.fallbacks.push('big', 'small')
  config.engine.maxRunning = 100_000
  config.agents.maxConcurrent = 100_000
  config.tools.subagents = { ...config.tools.subagents, maxConcurrent: 100_000, maxSpawnDepth: 3 }
}
