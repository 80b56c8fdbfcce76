import { afterEach, describe, expect } from 'vitest'
import { setRegistry } from '../../src/engine/policies/registry.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { scriptedModel } from '../../src/testing.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { delegationDesk, profileId } from './delegation-desk.ts'
import { unregister } from './policies.ts'
import { type Play, saidIn, whoIs } from './test-team.ts'

describe.each(databases)('delegation on %s', (database) => {
  const test = testOn(database)
  const desk = delegationDesk(database)
  afterEach(() => desk.office.remove())

  test('a delegated agent works with the model, the prompt and the skills of its profile, and its result comes back', async () => {
    await desk.open(
      { agentId: '@poet', task: 'a poem', context: 'about the sea' },
      {
        entry: { defaultForwardSkills: ['skill:rhymes'], allowedForwardSkills: ['skill:rhymes', 'skill:shell'] },
        profile: { model: { model: 'small' }, allowedSkills: ['skill:rhymes'], systemPrompt: 'Write in verse.' },
      },
    )
    const { text, runId } = await desk.office.ask('go')
    expect(text).toContain('all started agents have ended')
    const [answer, child] = [await desk.answerOf(runId), await desk.childOf(runId)]
    expect(answer).toEqual({
      ...{ status: 'accepted', runId: child.id, sessionKey: expect.stringMatching(/^agent:poet:subagent:/) },
      ...{ profileId, model: 'small', skills: ['rhymes'] },
    })
    expect(child).toMatchObject({
      ...{ kind: 'delegate', via: 'delegate', lane: 'agents', agent: 'poet', profile: { id: profileId, version: 1 } },
      ...{
        effectiveTools: ['search_files', 'read_result'],
        ceiling: { models: expect.arrayContaining(['small']), skills: ['rhymes'] },
      },
    })
    const [request] = desk.requestsTo('poet')
    expect(desk.requestsTo('poet')).toHaveLength(1)
    expect(request?.system).toContain('## Instructions\nWrite in verse.')
    expect(request?.system).toContain('## Skill rhymes\nBODY-OF-rhymes')
    expect(request?.messages).toEqual([{ role: 'user', content: 'a poem\n\n## Brief\nabout the sea' }])
  })

  test('a model that the profile does not allow gives way to the profile’s, and caller, run and turn are told why', async () => {
    const never = await desk.open(
      { agentId: 'poet', task: 'a poem', model_override: 'big' },
      { profile: { model: { model: 'small' } } },
    )
    const clamped = { from: 'big', why: 'its profile does not allow it' }
    const { answer, child } = await desk.go()
    expect(answer).toMatchObject({ status: 'accepted', model: 'small', clamped })
    expect(child).toMatchObject({ modelRequested: 'big', modelClamp: clamped })
    const turns = await desk.office.engine.store.read((rows) =>
      rows.all(rows.build.selectFrom('turns').select(['model', 'model_clamp_json']).where('run_id', '=', child.id)),
    )
    expect(turns).toEqual([{ model: 'small', model_clamp_json: JSON.stringify(clamped) }])
    expect(never.requests).toEqual([])
  })

  test('a model that models.allow leaves out gives way, and the answer names that list', async () => {
    const never = await desk.open(
      { agentId: '@poet', task: 'a poem', model_override: 'big' },
      {
        profile: { model: {}, allowedModels: ['big', 'small'] },
        config(config) {
          config.allowedModels = ['main', 'small']
        },
      },
    )
    const { answer } = await desk.go()
    expect(answer).toMatchObject({ model: 'small', clamped: { from: 'big', why: 'it is not in models.allow' } })
    expect(never.requests).toEqual([])
  })

  test.each([
    ['a skill that the registry does not list', ['rhymes', 'shell'], {}, 'the skill "shell"'],
    [
      'a skill that the profile does not allow',
      ['shell'],
      { allowedForwardSkills: ['rhymes', 'shell'] },
      'the skill "shell"',
    ],
  ])('%s is refused with those that are allowed, and nothing starts', async (_, forwardSkills, more, which) => {
    await desk.open(
      { agentId: '@poet', task: 'a poem', forwardSkills },
      { entry: { allowedForwardSkills: ['skill:rhymes'], ...more }, profile: { allowedSkills: ['rhymes'] } },
    )
    const { runId } = await desk.office.ask('go')
    expect(await desk.answerOf(runId)).toEqual({
      status: 'forbidden',
      error: `${which} may not be forwarded to @poet; allowed: rhymes`,
      allowed: ['rhymes'],
    })
    expect(await desk.office.engine.store.read((rows) => runsOf(rows, { rootRunId: runId ?? '' }))).toHaveLength(1)
  })

  test('an agent gets no skill that the run which delegates may not use', async () => {
    await desk.open(
      { agentId: '@poet', task: 'a poem' },
      { entry: { defaultForwardSkills: ['rhymes', 'shell'], allowedForwardSkills: [] } },
    )
    const { answer, child } = await desk.go({ ceiling: { skills: ['rhymes'] } })
    expect(answer).toMatchObject({ skills: ['rhymes'] })
    expect(child).toMatchObject({ ceiling: { skills: ['rhymes'] }, effectiveTools: ['search_files', 'read_result'] })
  })

  test('a default skill that the registry’s list does not have is not forwarded, asked for or not', async () => {
    const entry = { defaultForwardSkills: ['shell'], allowedForwardSkills: ['rhymes'] }
    await desk.open({ agentId: '@poet', task: 'a poem' }, { entry })
    const { answer, child } = await desk.go()
    expect(answer).toMatchObject({ skills: [] })
    expect(child).toMatchObject({ ceiling: { skills: ['rhymes'] }, effectiveTools: ['read_result'] })
  })

  test('an agent without a file and without skills can only answer', async () => {
    await desk.open({ agentId: '@poet', task: 'a poem' }, { profile: { systemPrompt: 'Write in verse.' } })
    const { child } = await desk.go()
    expect(child).toMatchObject({ state: 'completed', effectiveTools: ['read_result'] })
  })

  test('an agent with a file has no more than its file and its profile, whatever is forwarded to it', async () => {
    await desk.open(
      { agentId: '@writer', task: 'a page', forwardSkills: ['rhymes'] },
      {
        entry: { agentId: '@writer', allowedForwardSkills: ['rhymes'] },
        profile: { limits: { permissions: { tools: { deny: ['read_file'] } } } },
      },
    )
    const { child } = await desk.go()
    expect(child.effectiveTools).toEqual(['write_file', 'read_result'])
    const [request] = desk.requestsTo('writer')
    expect(request?.system).toContain('## Instructions\nBODY-OF-writer')
    expect(request?.system).toContain('## Skill rhymes\nBODY-OF-rhymes')
  })

  test('an agent with a file alone works with the default profile', async () => {
    await desk.open({ agentId: '@writer', task: 'a page' })
    const { answer, child } = await desk.go()
    expect(answer).toEqual({
      ...{ status: 'accepted', runId: child.id, sessionKey: expect.any(String), model: 'main', skills: [] },
    })
    expect(child).toMatchObject({ profile: null, effectiveTools: ['read_file', 'write_file', 'read_result'] })
  })

  test('a registered agent has its profile however it is started', async () => {
    const never = await desk.open({}, { entry: { agentId: '@writer' }, profile: { model: { model: 'small' } } })
    desk.office.engine.agents.list = () => desk.files
    const spawn: Play = (_, last) =>
      last === 'go'
        ? { calls: [{ name: 'spawn_agent', input: { task: 'x', skill: 'writer', model: 'big' } }] }
        : { text: 'ok' }
    const { reply: before } = desk.office.model
    desk.office.model.reply = (request, onDelta) =>
      whoIs(request) === 'coordinator'
        ? scriptedModel(() => spawn(saidIn(request), saidIn(request).at(-1) ?? '', request)).reply(request, onDelta)
        : before(request, onDelta)
    const { answer, child } = await desk.go()
    expect(answer).toMatchObject({ model: 'small', clamped: { from: 'big' } })
    expect(child).toMatchObject({ profile: { id: profileId, version: 1 } })
    expect((await desk.office.ask('hello', { agent: 'writer', label: 'direct' })).model).toEqual({
      requested: null,
      actual: 'small',
    })
    expect(never.requests).toEqual([])
  })

  test('an unknown agent is refused with those that there are', async () => {
    await desk.open({ agentId: '@pet', task: 'a poem' })
    const { runId } = await desk.office.ask('go')
    expect(await desk.answerOf(runId)).toMatchObject({
      status: 'error',
      error: expect.stringContaining('there is no agent "@pet"; did you mean @poet?'),
      known: ['@poet', '@writer', '@rhymes', '@shell'],
    })
  })

  test('of a large registry the refusal of an unknown agent lists some', async () => {
    await desk.open({ agentId: '@nobody', task: 'a poem' })
    const agents = Array.from({ length: 500 }, (_, number) => ({
      ...{ agentId: `@agent-${number}`, profileId, description: 'Does it.' },
    }))
    const value = { version: 1, agents }
    await desk.office.engine.store.write('policy', (tx) => setRegistry(tx, value, { by: 'owner', now: 1 }))
    const { runId } = await desk.office.ask('go')
    const { error, known } = (await desk.answerOf(runId)) as { error: string; known: string[] }
    expect(known).toHaveLength(60)
    expect(error).toMatch(/@agent-59, and 443 more$/)
  })

  test('MCP servers are narrowed like skills, and the answer says that they cannot be used yet', async () => {
    await desk.open(
      { agentId: '@poet', task: 'a poem', mcpServers: ['mcp:docs'] },
      {
        entry: { defaultMcpServers: ['mcp:web'], allowedMcpServers: ['mcp:docs', 'mcp:mail'] },
        profile: { allowedMcpServers: ['docs', 'web'] },
      },
    )
    const { answer, child } = await desk.go()
    expect(answer).toMatchObject({ mcpServers: ['docs'], note: expect.stringContaining('cannot be used yet') })
    expect(child.ceiling.mcpServers).toEqual(['docs'])
    expect(child.options.delegation?.mcpServers).toEqual(['docs'])
  })

  test('a delegation whose profile is removed before it starts fails, and says what to do', async () => {
    await desk.open({ agentId: '@poet', task: 'a poem' })
    await desk.office.stop()
    const runId = await desk.executeNext('go')
    await unregister(desk.office.engine, '@poet', profileId)
    await desk.office.restart()
    const child = await desk.childOf(runId)
    expect(child).toMatchObject({ state: 'failed', error: { code: 'profile_gone' } })
    expect(child.error?.message).toBe(`the profile ${profileId} of @poet no longer exists`)
    expect(child.error?.remedy).toContain('heddle profiles')
  })
})
