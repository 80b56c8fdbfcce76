import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { AgentDirectory } from '../../src/agents/agent-directory.ts'
import type { Agents } from '../../src/agents/agents.ts'
import { recordWorkFolders, workFolderRecorder } from '../../src/agents/work-folders.ts'
import { carryTrust, openAgents, recordFolders } from '../../src/app/agents.ts'
import { loadConfig } from '../../src/config/config.ts'
import { isLive } from '../../src/domain/agent.ts'
import { ensureHome, homePaths } from '../../src/home/home.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { saidIn, whoIs } from '../engine/test-team.ts'
import { openOwnerApp } from '../setup/owner-app.ts'
import { readCalls } from '../setup/read-calls.ts'
import { newPlace, type Place, said, whole } from './place.ts'

let place: Place
afterEach(() => place?.remove())

const at = (path: string) => join(place.root, path)
/** Where the agent that answers to a name comes from, in a folder that has nothing to do with any of this. */
const source = (agents: Agents, name = 'coder') => {
  mkdirSync(at('other'), { recursive: true })
  return agents.find(name, at('other'))?.source
}
const opened = (path: string, from: AgentDirectory['source'] = 'config') =>
  place.open({
    directories: [
      { path: at(path), source: from },
      { path: at('ours'), source: 'built-in' },
    ],
  })

describe('an agent file that lies in the folder of any session', () => {
  test.each(['config', 'home'] as const)('needs trust in every folder: from the %s', (from) => {
    place = newPlace({ 'project/skills/coder.md': whole('coder'), 'ours/coder.md': whole('coder') })
    const agents = opened('project/skills', from)
    expect(source(agents)).toBe(from)

    recordWorkFolders(place.workFoldersFile, [at('project')])
    expect(source(agents)).toBe('built-in')
    const [written] = agents.list(at('other'))
    expect(written).toMatchObject({
      status: 'untrusted',
      diagnostics: [{ remedy: `read it, then: heddle agents trust ${at('project/skills/coder.md')}` }],
    })
    expect(said(written as never)).toEqual([
      `note: it is in ${at('project')}, where agents can write, and is not trusted yet`,
    ])

    agents.trust(written as never)
    expect(source(agents)).toBe(from)
    place.write({ 'project/skills/coder.md': whole('coder', 'color: red\n') })
    expect(source(agents)).toBe('built-in')
    expect(agents.list(at('other')).find(({ source }) => source === from)?.diagnostics[0]?.message).toBe(
      'it has changed since you trusted it',
    )
  })

  test.each([
    ['the folder is further up', ['.'], 'project/deep/skills'],
    ['the folder is that of the file', ['project/skills/group'], 'project/skills'],
    ['the folder was noted by a link', ['link-to-project'], 'project/skills'],
    ['the directory is named by a link into the folder', ['project'], 'link-to-skills'],
    ['the directory is a link in the folder to somewhere else', ['project'], 'project/link-out'],
    ['a link on the way to it is in the folder', ['project'], 'link-to-project/link-out/group'],
  ])('however it is reached: %s', (_, folders, named) => {
    const coder = whole('coder')
    place = newPlace({
      'project/skills/group/coder.md': coder,
      'project/deep/skills/coder.md': coder,
      'elsewhere/group/coder.md': coder,
      'ours/coder.md': coder,
    })
    symlinkSync(at('project'), at('link-to-project'))
    symlinkSync(at('project/skills'), at('link-to-skills'))
    symlinkSync(at('elsewhere'), at('project/link-out'))
    const agents = opened(named)
    expect(source(agents)).toBe('config')
    recordWorkFolders(place.workFoldersFile, folders.map(at))
    expect(source(agents)).toBe('built-in')
  })

  test('and what lies in none counts as before', () => {
    place = newPlace({ 'project-2/skills/coder.md': whole('coder'), 'ours/coder.md': whole('coder') })
    const agents = opened('project-2/skills')
    recordWorkFolders(place.workFoldersFile, [at('project'), at('project-2/skills/coder'), at('folder')])
    expect(source(agents)).toBe('config')
  })
})

describe('the folders of sessions', () => {
  test('are noted once each, privately, and a line that a crash cut off spoils no other', () => {
    place = newPlace()
    recordWorkFolders(place.workFoldersFile, ['/a', '/b'])
    writeFileSync(place.workFoldersFile, `${readFileSync(place.workFoldersFile, 'utf8')}\n"/cut o`)
    recordWorkFolders(place.workFoldersFile, ['/b', '/with "quotes"\nand lines'])
    const lines = readFileSync(place.workFoldersFile, 'utf8').split('\n').filter(Boolean)
    expect(lines).toEqual(['"/a"', '"/b"', '"/cut o', JSON.stringify('/with "quotes"\nand lines')])
  })

  test('are noted again if their note is gone, and read only when the file has changed', () => {
    place = newPlace()
    const { workFoldersFile } = place
    // Later than any change here, so that the stamp of the file counts.
    const note = workFolderRecorder(workFoldersFile, { now: () => systemClock.now() + 10_000 })
    const noted = () => readFileSync(workFoldersFile, 'utf8').split('\n').filter(Boolean)
    note('/a')
    writeFileSync(workFoldersFile, '"/b"\n')
    note('/a')
    expect(noted()).toEqual(['"/b"', '"/a"'])
    const before = readCalls()
    for (let times = 0; times < 100; times++) note('/a')
    expect(readCalls() - before).toBeLessThan(50)
  })

  test('that others could have changed mean that every file needs trust', () => {
    place = newPlace({ 'named/coder.md': whole('coder'), 'ours/coder.md': whole('coder') })
    const agents = opened('named')
    recordWorkFolders(place.workFoldersFile, [])
    expect(source(agents)).toBe('config')
    chmodSync(place.workFoldersFile, 0o666)
    expect(source(agents)).toBe('built-in')
    expect(agents.look(at('other')).diagnostics).toMatchObject([
      { level: 'error', message: 'other users can write it, so every agent file needs trust' },
    ])
  })
})

test('a scratch home takes notes and trust along, and trusts the one file that was copied into it', async () => {
  place = newPlace({ 'project/skills/spy.md': whole('spy'), 'project/skills/known.md': whole('known') })
  const config = { ...(await loadConfig(at('home/heddle.yaml'), {})), skills: [at('project/skills')] }
  const paths = homePaths(at('home'))
  recordFolders(paths, [place.root])
  const known = openAgents({ paths, config, clock: systemClock })
  known.trust(known.list().find(({ name }) => name === 'known') as never)

  place.write({ 'scratch/home/skills/clerk.md': whole('clerk'), 'scratch/home/skills/beside.md': whole('beside') })
  const scratch = { paths: homePaths(at('scratch/home')), config, clock: systemClock }
  carryTrust(paths, scratch, at('scratch/home/skills/clerk.md'))
  const live = openAgents(scratch).list().filter(isLive)
  expect(live.map(({ name }) => name).filter((name) => /^(spy|known|clerk|beside)$/.test(name))).toEqual([
    'clerk',
    'known',
  ])
})

test('a skill that was rewritten in the folder of a run is nobody in another folder, also for a process that was started before', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-folders-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [a, b, skills] = [join(root, 'a'), join(root, 'b'), join(root, 'a/skills')]
  for (const folder of [skills, b]) mkdirSync(folder, { recursive: true })
  const own = whole('tester').replace('You do tester.', 'You are what the owner wrote.')
  writeFileSync(join(skills, 'tester.md'), own)
  const paths = homePaths(join(root, 'home'))
  await ensureHome(paths.home)
  const config = { ...(await loadConfig(paths.config, {})), skills: [skills] }
  config.tools.ask = []
  config.agent.default = '@general'
  const written = whole('tester').replace('You do tester.', 'You are what a run wrote.')
  const systems: string[] = []
  const model = scriptedModel((request) => {
    if (whoIs(request) === 'tester') systems.push(JSON.stringify(request))
    if (saidIn(request).length === 1 && saidIn(request)[0] === 'rewrite')
      return { calls: [{ name: 'write_file', input: { path: 'skills/tester.md', content: written } }] }
    return { text: 'done' }
  })
  const open = () => openOwnerApp({ paths, config, env: {}, models: [model] })
  const [first, second] = [await open(), await open()]
  const work = await first.work()
  onTestFinished(async () => {
    await work.stop()
    await first.close()
    await second.close()
  })
  const ask = async (folder: string, content: string, agent?: string) => {
    const { itemId } = await first.submit(folder, { session: 'main', content, ...(agent && { agent }) })
    return first.answer(folder, itemId, new AbortController().signal)
  }
  const inB = async (app = first) => (await app.agents(b)).find(({ name }) => name === 'tester')?.description
  expect([await inB(), await inB(second)]).toEqual(['Does tester.', 'Does tester.'])

  expect(await ask(a, 'rewrite')).toMatchObject({ ok: true })
  // A run cannot write there any more; one of an earlier version, or a program beside it, could.
  expect(readFileSync(join(skills, 'tester.md'), 'utf8')).toBe(own)
  writeFileSync(join(skills, 'tester.md'), written)
  const ours = await inB()
  expect(ours).not.toBe('Does tester.')
  expect(await inB(second)).toBe(ours)
  expect(await ask(b, 'hello', 'tester')).toMatchObject({ ok: true })
  expect(systems.join('')).not.toContain('You are what a run wrote.')

  const known = openAgents({ paths, config, clock: systemClock })
  const [waiting] = known.list(b).filter(({ status }) => status === 'untrusted')
  expect(waiting?.path).toBe(join(skills, 'tester.md'))
  known.trust(waiting as never)
  expect(await ask(b, 'hello', 'tester')).toMatchObject({ ok: true })
  expect(systems.at(-1)).toContain('You are what a run wrote.')
})
