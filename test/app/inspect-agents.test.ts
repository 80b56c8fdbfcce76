import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TestApp } from '../../src/testing.ts'
import { openWorkingApp } from './working-app.ts'

const folder = '/here'
const never = new AbortController().signal

let heddle: TestApp
beforeEach(async () => {
  heddle = await openWorkingApp()
})
afterEach(() => heddle.remove())

function write(name: string, text: string): string {
  mkdirSync(join(heddle.home, 'skills'), { recursive: true })
  const path = join(heddle.home, 'skills', `${name}.md`)
  writeFileSync(path, text)
  return path
}

describe('one agent', () => {
  test.each(['coordinator', 'general', 'writer', 'coder', 'tester', 'poet'])(
    '@%s is told with the tools, the profile and the model that its next run has',
    async (name) => {
      write('formatting', '---\nname: formatting\ndescription: Formats.\ntools: [read_file]\n---\nTwo spaces.\n')
      await heddle.setProfile('profile:poet:v1', { model: {}, limits: { permissions: { tools: { deny: ['exec'] } } } })
      await heddle.registerAgent({
        ...{ agentId: '@poet', profileId: 'profile:poet:v1', description: 'Writes poems.' },
        defaultForwardSkills: ['skill:formatting'],
      })
      const told = await heddle.agent(folder, name)
      const { itemId } = await heddle.submit(folder, { session: 'main', content: 'hello', agent: name })
      const { runId } = await heddle.answer(folder, itemId, never)
      const run = await heddle.show(folder, `run:${runId}`)
      if (run.kind !== 'run') throw new Error('a run was asked for')
      expect(told.tools.map((tool) => tool.name).sort()).toEqual([...run.effectiveTools].sort())
      expect(told.profile && { id: told.profile.id, version: told.profile.version }).toEqual(run.profile)
      expect(told.model.name).toBe(run.model.actual)
      expect(told.skills).toEqual(name === 'poet' ? ['formatting'] : [])
    },
  )

  test('says which tools of its file it does not get, and why', async () => {
    write('odd', '---\nname: odd\ndescription: Odd.\ntools: [read_file, spawn_agent, exec]\n---\nWork.\n')
    await heddle.setProfile('profile:odd:v1', {
      model: {},
      limits: { permissions: { tools: { deny: ['read_file'] } } },
    })
    await heddle.registerAgent({ agentId: '@odd', profileId: 'profile:odd:v1', description: 'Odd.' })
    const { withheld } = await heddle.agent(folder, '@odd')
    expect(withheld).toContainEqual({ tool: 'read_file', why: 'its profile does not allow it' })
  })

  test('that cannot be given work is told with the reason, and one that does not exist with the nearest name', async () => {
    write('broken', '---\nname: broken\nmodel: nowhere\n---\nText.\n')
    const broken = await heddle.agent(folder, 'broken')
    expect(broken).toMatchObject({ file: { status: 'broken' }, tools: [], error: { code: 'agent_gone' } })
    await expect(heddle.agent(folder, 'writr')).rejects.toMatchObject({
      code: 'not_found',
      remedy: 'did you mean @writer?',
    })
  })
})

test('each skill is told with where it is, who gets it, which profiles list it, and what is wrong with it', async () => {
  const path = write(
    'formatting',
    '---\nname: formatting\ndescription: Formats.\ntools: [read_file]\n---\nTwo spaces.\n',
  )
  write('broken', '---\nname: broken\nmodel: nowhere\n---\nText.\n')
  await heddle.setProfile('profile:poet:v1', { model: {}, allowedSkills: ['skill:formatting', 'other'] })
  const poet = { profileId: 'profile:poet:v1', description: 'Writes poems.' }
  await heddle.registerAgent({ agentId: '@poet', ...poet, defaultForwardSkills: ['formatting'] })
  await heddle.registerAgent({ agentId: '@bard', ...poet, allowedForwardSkills: ['skill:formatting'] })
  const { skills, openProfiles } = await heddle.skills(folder)
  expect(skills.find(({ name }) => name === 'formatting')).toMatchObject({
    ...{ path, source: 'home', status: 'ready', description: 'Formats.' },
    givenTo: [
      { agentId: '@poet', when: 'always' },
      { agentId: '@bard', when: 'asked' },
    ],
    profiles: ['profile:poet:v1'],
  })
  const broken = skills.find(({ name }) => name === 'broken')
  expect(broken).toMatchObject({ status: 'broken', givenTo: [], profiles: [] })
  expect(broken?.diagnostics).toContainEqual(expect.objectContaining({ level: 'error', line: 3 }))
  expect(openProfiles).toEqual(['profile:coder:v1', 'profile:researcher:v1', 'profile:writer:v1'])
  expect(JSON.stringify(skills)).not.toContain('Two spaces.')
})
