import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { withoutRights } from '../setup/root.ts'
import { newPlace, type Place, said, whole } from './place.ts'

let place: Place
afterEach(() => place.remove())

const inHome = (name: string) => join(place.root, 'home/skills', name)
const only = () => {
  const [agent, ...others] = place.open().list()
  expect(others).toEqual([])
  if (!agent) throw new Error('there is no agent')
  return agent
}

describe('files that are no agents are told, and disturb nobody', () => {
  test.each([
    ['bytes that are no text', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]), 'error: the file is not UTF-8 text'],
    ['another encoding', Buffer.from('---\nname: caf\u00e9\n---\n', 'latin1'), 'error: the file is not UTF-8 text'],
    ['UTF-16', Buffer.from('\ufeff---\nname: a\n---\n', 'utf16le'), 'error: the file is not UTF-8 text'],
    ['text with a zero in it', '---\nname: a\ndescription: b\u0000\n---\nc', 'error: the file is not UTF-8 text'],
    ['nothing', '', 'error 1: the file is empty'],
    [
      'more than 1 MB',
      `${whole('a')}${'x'.repeat(1024 * 1024)}`,
      'error: the file is larger than 1 MB and was not read',
    ],
  ])('%s', (_, content, message) => {
    place = newPlace({ 'home/skills/a.md': content })
    expect(only()).toMatchObject({ name: 'a', status: 'broken' })
    expect(said(only())).toEqual([message])
    expect(only().diagnostics[0]?.remedy).toEqual(expect.any(String))
  })

  test('a pipe holds nobody up', () => {
    place = newPlace()
    execFileSync('mkfifo', [inHome('a.md')])
    expect(said(only())).toEqual(['error: it is not a file'])
  })

  test('a directory that is called like a file', () => {
    place = newPlace({ 'home/skills/dir.md/a.md': whole('a') })
    expect(only().name).toBe('a')
  })

  test('links: those that stay are followed, those that leave, lead nowhere or in circles are told', () => {
    place = newPlace({ 'outside/secret.md': whole('secret'), 'home/skills/deep/a.md': whole('a') })
    symlinkSync(join(place.root, 'outside/secret.md'), inHome('secret.md'))
    symlinkSync('/nowhere/at/all.md', inHome('nowhere.md'))
    symlinkSync(inHome('circle.md'), inHome('circle.md'))
    symlinkSync(join(place.root, 'outside'), inHome('elsewhere'))
    symlinkSync(inHome(''), inHome('deep/up'))
    symlinkSync(inHome('deep/a.md'), inHome('also-a.md'))
    const { agents, diagnostics } = place.open().look()
    expect(agents.map(({ name, status, diagnostics: [first] }) => [name, status, first?.message])).toEqual([
      ['a', 'ready', 'it is called a, its file also-a'],
      ['a', 'ready', expect.stringContaining('is shadowed by')],
      ['circle', 'broken', 'it is a broken link'],
      ['nowhere', 'broken', 'it is a broken link'],
      ['secret', 'broken', expect.stringContaining('it is a link out of its directory')],
    ])
    expect(diagnostics).toMatchObject([{ path: inHome('elsewhere'), message: expect.stringContaining('not followed') }])
    expect(JSON.stringify(agents)).not.toContain('Does secret')
  })

  test('a directory of a folder that leads out of it is not looked into', () => {
    place = newPlace({ 'outside/a.md': whole('a') })
    mkdirSync(join(place.folder, '.claude'))
    symlinkSync(join(place.root, 'outside'), join(place.folder, '.claude/agents'))
    const { agents, diagnostics } = place.open().look(place.folder)
    expect(agents).toEqual([])
    expect(diagnostics).toMatchObject([
      { level: 'warning', message: expect.stringContaining('link out of the folder') },
    ])
  })

  test('skills inside the folder of another skill are agents, and its other files are none', () => {
    place = newPlace({
      'home/skills/office/SKILL.md': whole('office'),
      'home/skills/office/reference.md': whole('reference'),
      'home/skills/office/skills/pdf/SKILL.md': whole('pdf'),
      'home/skills/office/skills/pdf/deep/note.md': whole('note'),
      'home/skills/office/skills/pdf/forms/fill/SKILL.md': whole('fill'),
    })
    const { agents, diagnostics } = place.open().look()
    expect(agents.map(({ name }) => name)).toEqual(['fill', 'office', 'pdf'])
    expect(diagnostics).toEqual([])
  })

  test('a folder that becomes a skill keeps only the skills in it', () => {
    place = newPlace({ 'home/skills/office/notes/a.md': whole('a'), 'home/skills/office/pdf/SKILL.md': whole('pdf') })
    const agents = place.open()
    const names = () => agents.list().map(({ name }) => name)
    expect(names()).toEqual(['a', 'pdf'])
    place.write({ 'home/skills/office/SKILL.md': whole('office') })
    expect(names()).toEqual(['office', 'pdf'])
  })

  test('agents in hidden folders and deeper than six levels are left out, and each is named with the way to have it', () => {
    place = newPlace({
      'home/skills/1/2/3/4/5/6/in.md': whole('in'),
      'home/skills/1/2/3/4/5/6/7/out.md': whole('out'),
      'home/skills/1/2/3/4/5/6/7/8/9/SKILL.md': whole('deep'),
      'home/skills/.system/pdf/SKILL.md': whole('pdf'),
      'home/skills/.git/config.txt': 'no agent',
      'home/skills/.cache/README.md': '# About',
      'home/skills/1/2/3/4/5/6/empty/x.txt': 'no agent',
    })
    const { agents, diagnostics } = place.open().look()
    expect(agents.map(({ name }) => name)).toEqual(['in'])
    const hidden = 'it is in a hidden folder and was skipped'
    const deep = 'it is deeper than 6 levels and was skipped'
    expect(diagnostics).toEqual([
      {
        level: 'warning',
        message: hidden,
        path: inHome('.system/pdf/SKILL.md'),
        remedy: `move it, or add its directory to skills: in heddle.yaml: ${inHome('.system/pdf')}`,
      },
      {
        level: 'warning',
        message: deep,
        path: inHome('1/2/3/4/5/6/7/8/9/SKILL.md'),
        remedy: `move it, or add its directory to skills: in heddle.yaml: ${inHome('1/2/3/4/5/6/7/8/9')}`,
      },
      {
        level: 'warning',
        message: deep,
        path: inHome('1/2/3/4/5/6/7/out.md'),
        remedy: `move it, or add its directory to skills: in heddle.yaml: ${inHome('1/2/3/4/5/6/7')}`,
      },
    ])
  })

  test('of very many agents that are left out some are named and the others counted', () => {
    const many = Array.from({ length: 30 }, (_, at) => [`home/skills/.all/s${at}/SKILL.md`, whole(`s${at}`)])
    place = newPlace(Object.fromEntries(many))
    const { diagnostics } = place.open().look()
    expect(diagnostics).toHaveLength(21)
    expect(diagnostics.at(-1)).toMatchObject({ message: '10 more agents were left out like these' })
  })

  test('more than 2,000 directories are not walked', () => {
    place = newPlace({ 'home/skills/a.md': whole('a') })
    for (let at = 0; at < 2100; at++) mkdirSync(inHome(`d${at}`))
    const { agents, diagnostics } = place.open().look()
    expect(agents).toHaveLength(1)
    expect(diagnostics).toMatchObject([
      {
        message: expect.stringMatching(
          /^there are too many .* 101 folders were left out, the first is .*skills\/d\d+$/,
        ),
      },
    ])
  })

  test('files and directories that may not be read', () => {
    place = newPlace({ 'home/skills/a.md': whole('a'), 'home/skills/dir/b.md': whole('b') })
    chmodSync(inHome('a.md'), 0)
    chmodSync(inHome('dir'), 0)
    for (const folder of ['', 'home', 'home/skills']) chmodSync(join(place.root, folder), 0o755)
    const { agents, diagnostics } = withoutRights(() => place.open().look())
    chmodSync(inHome('dir'), 0o700)
    expect(agents.map(said)).toEqual([['error: you have no permission to read it']])
    expect(diagnostics).toMatchObject([{ level: 'warning', message: 'you have no permission to read it' }])
  })

  test('a directory of the configuration that is a file', () => {
    place = newPlace({ 'home/agents': 'not a directory' })
    expect(place.open().look().diagnostics).toMatchObject([{ level: 'warning', remedy: expect.any(String) }])
  })
})
