import { chmodSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { stampOf } from '../../src/agents/agent-files.ts'
import type { Agent } from '../../src/domain/agent.ts'
import { systemClock } from '../../src/system.ts'
import { newPlace, type Place, said, whole } from './place.ts'

let place: Place
afterEach(() => place.remove())

const paths = (agents: readonly Agent[]) => agents.map(({ path }) => path.slice(place.root.length + 1))
const trustAll = (agents: ReturnType<Place['open']>) => {
  for (const agent of agents.list(place.folder)) if (agent.status === 'untrusted') agents.trust(agent)
}

describe('who answers to a name', () => {
  test('the folder comes first, then the home, then what the configuration names, then ours', () => {
    const places = ['folder/.heddle/agents/a.md', 'home/skills/a.md', 'home/agents/a.md', 'named/a.md', 'ours/a.md']
    place = newPlace(Object.fromEntries(places.map((path) => [path, whole('a', `place: ${path}\n`)])))
    const agents = place.open()
    trustAll(agents)
    for (const path of places) {
      expect(paths([agents.find('a', place.folder) as Agent])).toEqual([path])
      rmSync(join(place.root, path))
    }
    expect(agents.find('a', place.folder)).toBeUndefined()
  })

  test('a change of its own file counts at once, one that takes its name in the file of another within ten seconds', () => {
    place = newPlace({ 'home/skills/other.md': whole('other'), 'ours/a.md': whole('a', 'place: ours\n') })
    let now = Date.now() + 60_000
    const agents = place.open({ clock: { now: () => now } })
    const found = () => (agents.find('a', place.folder) as Agent).extra['place']
    expect(found()).toBe('ours')
    writeFileSync(join(place.root, 'ours/a.md'), whole('a', 'place: changed\n'))
    expect(found()).toBe('changed')
    writeFileSync(join(place.root, 'home/skills/other.md'), whole('a', 'place: home\n'))
    expect(found()).toBe('changed')
    now += 10_000
    expect(found()).toBe('home')
  })

  test('who is not used is told by whom, with both paths', () => {
    place = newPlace({ 'home/skills/a.md': whole('a'), 'ours/a.md': whole('a') })
    const [first, second] = place.open().list()
    expect(first).toMatchObject({ status: 'ready', source: 'home', diagnostics: [] })
    expect(second?.shadowedBy).toBe(first?.path)
    expect(said(second as Agent)).toEqual([`note: ${second?.path} is shadowed by ${first?.path} (same name)`])
  })

  test('two files of one directory with one name: the first by its path counts', () => {
    place = newPlace({ 'home/skills/b.md': whole('same'), 'home/skills/a.md': whole('same') })
    const agents = place.open()
    expect(paths(agents.list())).toEqual(['home/skills/a.md', 'home/skills/b.md'])
    expect(paths([agents.find('same') as Agent])).toEqual(['home/skills/a.md'])
  })

  test('a broken or untrusted file takes nobody’s place', () => {
    place = newPlace({
      'folder/.heddle/agents/a.md': whole('a'),
      'home/skills/a.md': '---\nname: a',
      'ours/a.md': whole('a'),
    })
    expect(paths([place.open().find('a', place.folder) as Agent])).toEqual(['ours/a.md'])
  })

  test('every place in a folder where programs keep agents is looked at', () => {
    place = newPlace({
      'folder/.heddle/agents/a.md': whole('a'),
      'folder/.heddle/skills/b/SKILL.md': whole('b'),
      'folder/.agents/skills/c/SKILL.md': whole('c'),
      'folder/.claude/agents/team/d.md': whole('d'),
      'folder/.claude/skills/e/SKILL.md': whole('e'),
      'folder/.opencode/agent/f.md': whole('f'),
      'folder/.opencode/agents/g.md': whole('g'),
      'folder/agents/no.md': whole('no'),
    })
    const found = place.open().list(place.folder)
    expect(found.map(({ name, format, status }) => [name, format, status])).toEqual([
      ['a', 'heddle', 'untrusted'],
      ['b', 'heddle', 'untrusted'],
      ['c', 'agent-skill', 'untrusted'],
      ['d', 'claude-agent', 'untrusted'],
      ['e', 'claude-skill', 'untrusted'],
      ['f', 'opencode', 'untrusted'],
      ['g', 'opencode', 'untrusted'],
    ])
    expect(place.open().list()).toEqual([])
  })

  test('a folder with a SKILL.md is one agent, and what else lies in it is none', () => {
    place = newPlace({
      'home/skills/pdf/SKILL.md': whole('pdf'),
      'home/skills/pdf/references/forms.md': '# Forms',
      'home/skills/README.md': '# Read me',
      'home/skills/changelog.md': whole('changelog'),
      'home/skills/group/deep/other.md': whole('other'),
      'home/skills/.hidden/x.md': whole('x'),
      'home/skills/node_modules/y/y.md': whole('y'),
    })
    expect(paths(place.open().list())).toEqual([
      'home/skills/changelog.md',
      'home/skills/group/deep/other.md',
      'home/skills/pdf/SKILL.md',
    ])
  })
})

describe('trust', () => {
  test('a file of a folder does not count before its owner says so, and not after it has changed', () => {
    place = newPlace({ 'folder/.claude/agents/a.md': whole('a') })
    const agents = place.open()
    const [untrusted] = agents.list(place.folder)
    expect(said(untrusted as Agent)).toEqual(['note: it is in the folder and is not trusted yet'])
    expect(agents.find('a', place.folder)).toBeUndefined()

    agents.trust(untrusted as Agent)
    expect(agents.find('a', place.folder)?.status).toBe('ready')

    place.write({ 'folder/.claude/agents/a.md': whole('a', 'color: red\n') })
    expect(agents.find('a', place.folder)).toBeUndefined()
    expect(said(agents.list(place.folder)[0] as Agent)).toEqual(['note: it has changed since you trusted it'])

    place.write({ 'folder/.claude/agents/a.md': whole('a') })
    expect(agents.find('a', place.folder)?.status).toBe('ready')
  })

  test('a file that is written after another was trusted is not trusted with it', () => {
    place = newPlace({ 'folder/.heddle/agents/a.md': whole('a') })
    const agents = place.open()
    trustAll(agents)
    place.write({ 'folder/.heddle/agents/b.md': whole('b'), 'folder/.heddle/agents/copy-of-a.md': whole('a') })
    expect(agents.list(place.folder).map(({ path, status }) => [path.split('/').at(-1), status])).toEqual([
      ['a.md', 'ready'],
      ['copy-of-a.md', 'untrusted'],
      ['b.md', 'untrusted'],
    ])
  })

  test('a change that keeps size and time is seen, also of a file that nobody touched for long', () => {
    place = newPlace({ 'folder/.heddle/agents/a.md': whole('a', 'x: 1\n') })
    const file = join(place.folder, '.heddle/agents/a.md')
    utimesSync(file, 1000, 1000)
    const later = { now: () => systemClock.now() + 60_000 }
    const agents = place.open({ clock: later })
    trustAll(agents)
    expect(agents.find('a', place.folder)).toBeDefined()
    const before = statSync(file, { bigint: true }).ctimeNs
    // The disk's time is coarse: until it has moved on, no program could tell.
    while (statSync(file, { bigint: true }).ctimeNs === before) {
      writeFileSync(file, whole('a', 'x: 2\n'))
      utimesSync(file, 1000, 1000)
    }
    expect(agents.find('a', place.folder)).toBeUndefined()
  })

  test('a stamp that is younger than the disk’s tick is not believed', () => {
    place = newPlace({ 'home/skills/a.md': whole('a') })
    const stats = statSync(join(place.root, 'home/skills/a.md'), { bigint: true })
    const settled = (age: number) => stampOf(stats, { now: () => Number(stats.ctimeMs) + age }).isSettled
    expect([settled(-1000), settled(0), settled(50), settled(1000)]).toEqual([false, false, false, true])
  })

  test('a directory that the configuration names needs trust where it is in the folder', () => {
    place = newPlace({ 'named/a.md': whole('a') })
    const agents = place.open()
    expect(agents.find('a', place.folder)?.status).toBe('ready')
    expect(agents.find('a', join(place.root, 'named'))).toBeUndefined()
    expect(agents.find('a', place.root)).toBeUndefined()
  })

  test('is kept in a private file that others cannot add to', () => {
    place = newPlace({ 'folder/.heddle/agents/a.md': whole('a') })
    const agents = place.open()
    trustAll(agents)
    const [agent] = agents.list(place.folder)
    expect(statSync(place.trustFile).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(place.trustFile, 'utf8'))).toEqual({ agents: { [agent?.path ?? '']: agent?.hash } })

    chmodSync(place.trustFile, 0o622)
    expect(agents.find('a', place.folder)).toBeUndefined()
    expect(agents.look(place.folder).diagnostics).toMatchObject([
      { level: 'error', message: 'other users can write it, so no agent of a folder is trusted' },
    ])
    chmodSync(place.trustFile, 0o600)
    expect(agents.find('a', place.folder)?.status).toBe('ready')
  })

  test.each(['', '{', '[]', '{"agents":3}', 'null', '{"agents":{"/x":7}}'])(
    'a file of trust that says %j trusts nobody, and nothing is written over it',
    (text) => {
      place = newPlace({ 'folder/.heddle/agents/a.md': whole('a'), 'home/trusted-agents.json': text })
      chmodSync(place.trustFile, 0o600)
      const agents = place.open()
      expect(agents.find('a', place.folder)).toBeUndefined()
      if (text.includes('/x')) return
      expect(() => trustAll(agents)).toThrow(/trusted-agents\.json/)
      expect(readFileSync(place.trustFile, 'utf8')).toBe(text)
    },
  )
})

describe('the next look sees what has changed', () => {
  test('a file that is written, changed, renamed and removed', () => {
    place = newPlace()
    const agents = place.open()
    expect(agents.list()).toEqual([])
    place.write({ 'home/skills/a.md': whole('a') })
    expect(agents.find('a')?.description).toBe('Does a.')
    place.write({ 'home/skills/a.md': whole('a').replace('Does a.', 'Does b.') })
    expect(agents.find('a')?.description).toBe('Does b.')
    renameSync(join(place.root, 'home/skills/a.md'), join(place.root, 'home/skills/b.md'))
    expect(paths(agents.list())).toEqual(['home/skills/b.md'])
    rmSync(join(place.root, 'home/skills/b.md'))
    expect(agents.list()).toEqual([])
  })

  test('directories that come and go, also the one above all', () => {
    place = newPlace()
    const agents = place.open()
    expect(agents.list()).toEqual([])
    place.write({ 'home/agents/team/a.md': whole('a') })
    expect(agents.find('a')).toBeDefined()
    rmSync(join(place.root, 'home/agents'), { recursive: true })
    expect(agents.find('a')).toBeUndefined()
    rmSync(join(place.root, 'named'), { recursive: true })
    expect(agents.look().diagnostics).toMatchObject([{ message: 'there is no such directory' }])
  })

  test('nothing changed: the same answer, not an equal one', () => {
    place = newPlace({ 'home/skills/a.md': whole('a'), 'home/skills/broken.md': '---\n', 'ours/b.md': whole('b') })
    const agents = place.open()
    const first = agents.list(place.folder)
    expect(agents.list(place.folder)).toBe(first)
    place.write({ 'home/skills/c.md': whole('c') })
    const second = agents.list(place.folder)
    expect(second).not.toBe(first)
    expect(second.find(({ name }) => name === 'a')).toBe(first.find(({ name }) => name === 'a'))
  })

  test('a broken edit: what the file said before is used, and it says so, until it is mended', () => {
    place = newPlace({ 'home/skills/a.md': whole('a') })
    const agents = place.open()
    const good = agents.find('a') as Agent
    place.write({ 'home/skills/a.md': '---\nname: a\ndescription: half' })
    const kept = agents.find('a') as Agent
    expect(kept).toMatchObject({ status: 'degraded', body: good.body, hash: good.hash, tools: good.tools })
    expect(said(kept)).toEqual([
      'warning: the file is broken now: its last good version is used until you fix it',
      'warning 1: the frontmatter never ends',
    ])
    expect(agents.find('a')).toBe(kept)
    place.write({ 'home/skills/a.md': whole('a') })
    expect(agents.find('a')).toMatchObject({ status: 'ready', diagnostics: [] })
    rmSync(join(place.root, 'home/skills/a.md'))
    expect(agents.find('a')).toBeUndefined()
  })

  test('a broken edit in a folder is not replaced by what was trusted before', () => {
    place = newPlace({ 'folder/.heddle/agents/a.md': whole('a') })
    const agents = place.open()
    trustAll(agents)
    expect(agents.find('a', place.folder)).toBeDefined()
    place.write({ 'folder/.heddle/agents/a.md': '---\n' })
    expect(agents.find('a', place.folder)).toBeUndefined()
    expect(agents.list(place.folder)[0]?.status).toBe('broken')
  })

  test('a home inside the folder is still the home, and its files need trust', () => {
    place = newPlace({ 'folder/.heddle/skills/a.md': whole('a') })
    const path = join(place.folder, '.heddle/skills')
    const agents = place.open({ directories: [{ path, source: 'home' }] })
    const [agent] = agents.list(place.folder)
    expect(agent).toMatchObject({ name: 'a', source: 'home', status: 'untrusted' })
    agents.trust(agent as Agent)
    expect(agents.list(place.folder)).toMatchObject([{ name: 'a', source: 'home', status: 'ready' }])
  })
})
