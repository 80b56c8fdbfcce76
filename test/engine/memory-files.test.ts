import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import type { TurnView } from '../../src/api/views/turn.ts'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { show } from '../../src/engine/views/show.ts'
import { homeFiles } from '../../src/home/home-files.ts'
import { remember } from '../../src/memory/remember.ts'
import { wholeLook } from '../memory/whole-look.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { agentNamed, newOffice, type Office, type OfficeOptions, type Play, staff } from './test-team.ts'

const trusted = { integrity: 'trusted' as const, sources: [] }

describe.each(databases)('what the owner wrote into the home, for agents on %s', (database) => {
  const test = testOn(database)
  let office: Office
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'heddle-home-'))
  })
  afterEach(async () => {
    await office.remove()
    rmSync(home, { recursive: true, force: true })
  })

  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const open = async (plays: Record<string, Play>, options: OfficeOptions = {}) => {
    office = await newOffice(database, plays, { home, ...options })
  }
  const takeIn = async () => expect(await wholeLook(office.engine, homeFiles(home))).toEqual([])
  const note = (at = 0) => office.requestsOf('coordinator')[at]?.note ?? ''
  const around = {
    now: 1,
    protect: nothingProtected,
    agents: { find: () => undefined, list: () => [] },
    limits: { usd: 1, tokens: 1, steps: 1 },
  }
  const shownTurn = async (turnId: string | null) =>
    (await office.engine.store.read((rows) => show(rows, `turn:${turnId}`, office.folder, around))) as TurnView

  test('whoever talks with a person is reminded of the note that fits, behind memories, and that is shown', async () => {
    await open({ coordinator: () => ({ text: 'It is 8443.' }) })
    put('memory/2026-11-03.md', '# Servers\n\nThe staging server listens\non port 8443.\n\nLunch was good.')
    await office.engine.store.write('submit', (tx) =>
      remember(tx, { content: 'The staging server is in rack 2', source: 'user', label: trusted }, 1, 1000),
    )
    await takeIn()
    const { turnId } = await office.ask('which port has the staging server?')
    expect(note()).toContain(
      '[id:1] The staging server is in rack 2 (saved 1970-01-01)\n' +
        '[notes of the user that may be relevant; cite as [path:line]]\n' +
        '[memory/2026-11-03.md:3] Servers: The staging server listens on port 8443.',
    )
    expect(note()).not.toContain('Lunch')
    const { remindedOfFiles, remindedOf, label } = await shownTurn(turnId)
    expect(remindedOf).toHaveLength(1)
    expect(label).toEqual(trusted)
    const passage = {
      path: 'memory/2026-11-03.md',
      line: 3,
      heading: 'Servers',
      rank: expect.any(Number),
      words: expect.arrayContaining(['port', 'staging', 'server']),
    }
    expect(remindedOfFiles).toEqual([{ ...passage, text: 'The staging server listens\non port 8443.' }])
    // The file says something else now: where it stood and why is known, its words are not made up.
    put('memory/2026-11-03.md', 'All servers are gone.')
    await takeIn()
    const { heading: _, ...gone } = passage
    expect((await shownTurn(turnId)).remindedOfFiles).toEqual([{ ...gone, text: '' }])
  })

  test('what the prompt says anyway is not said again; what was cut from it is', async () => {
    await open({ coordinator: () => ({ text: 'ok' }) })
    put('USER.md', 'The staging server is my favourite.\r\nIts port is 1.')
    put('memory/MEMORY.md', `The staging port is 2.\n\n${'filler '.repeat(3000)}\n\nThe staging port was 3 once.`)
    put('memory/daily.md', 'The staging port is 4.')
    await takeIn()
    await office.ask('staging port?')
    const [request] = office.requestsOf('coordinator')
    expect(request?.system).toContain('favourite')
    expect(note()).not.toMatch(/favourite|port is 2/)
    expect(note()).toContain('[memory/daily.md:1] The staging port is 4.')
    expect(note()).toContain('[memory/MEMORY.md:5] The staging port was 3 once.')
  })

  test('at most three are shown, each cut, and none that fits by chance', async () => {
    await open({ coordinator: () => ({ text: 'ok' }) })
    for (let at = 0; at < 6; at++)
      put(`memory/${at}.md`, `staging port release tuesday rollback week ${at} ${'🙂x'.repeat(150)}`)
    put('memory/chance.md', 'Quite a week.')
    await takeIn()
    await office.ask('staging port, release, tuesday, rollback, week?')
    const lines = note()
      .split('\n')
      .filter((line) => line.startsWith('[memory/'))
    expect(lines).toHaveLength(3)
    for (const line of lines) {
      expect(line.isWellFormed()).toBe(true)
      expect(line.length).toBeLessThan(540)
    }
    expect(note()).not.toContain('chance.md')
  })

  test('memory_query finds a note that was written a moment ago, with path and line', async () => {
    await open({
      coordinator: (said, last) =>
        last === 'look'
          ? { calls: [{ name: 'memory_query', input: { query: 'staging server port', limit: 2 } }] }
          : { text: said.at(-1) ?? '' },
    })
    for (let at = 0; at < 3; at++) put(`memory/${at}.md`, 'The staging port was another once')
    await takeIn()
    put('memory/new.md', '\n# Servers\nThe staging server has this port')
    const answer = JSON.parse((await office.ask('look')).text)
    expect(answer.files).toHaveLength(2)
    expect(answer.files).toContainEqual({
      path: 'memory/new.md',
      line: 3,
      heading: 'Servers',
      text: 'The staging server has this port',
      rank: expect.any(Number),
      words: expect.arrayContaining(['staging', 'port', 'server']),
    })
  })

  test('an agent that works for others is reminded of nothing', async () => {
    const agents = [...staff, agentNamed('knower', { tools: ['memory_query'] })]
    await open({ knower: () => ({ text: 'ok' }) }, { agents })
    put('memory/a.md', 'The staging port is 4.')
    await takeIn()
    await office.ask('staging port?', { agent: 'knower' })
    expect(office.model.requests[0]?.note).not.toContain('memory/a.md')
  })

  test('switched off, nothing of it is found or said', async () => {
    const config: OfficeOptions['config'] = ({ memory }) => {
      memory.files = false
    }
    const query = { calls: [{ name: 'memory_query', input: { query: 'staging' } }] }
    await open({ coordinator: (said, last) => (last === 'staging?' ? query : { text: said.at(-1) ?? '' }) }, { config })
    put('memory/a.md', 'The staging port is 4.')
    await takeIn()
    expect(JSON.parse((await office.ask('staging?')).text)).toEqual({ memories: [] })
    expect(note()).not.toContain('memory/a.md')
  })

  test('recall can be turned off, and what was written is still found', async () => {
    const config: OfficeOptions['config'] = ({ memory }) => {
      memory.recall = false
    }
    const query = { calls: [{ name: 'memory_query', input: { query: 'staging' } }] }
    await open({ coordinator: (said, last) => (last === 'staging?' ? query : { text: said.at(-1) ?? '' }) }, { config })
    put('memory/a.md', 'The staging port is 4.')
    expect(JSON.parse((await office.ask('staging?')).text).files).toHaveLength(1)
    expect(note()).not.toContain('memory/a.md')
  })
})
