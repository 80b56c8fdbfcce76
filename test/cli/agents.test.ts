import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { width } from '../../src/cli/terminal/screen.ts'
import type { Agent } from '../../src/domain/agent.ts'
import { newHeddle, type TestHeddle } from './heddle.ts'

const file = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: Does ${name}.\ntriggers: [x]\ntools: [read_file]\n${more}---\nYou do ${name}.\n`
const ours = ['code-review', 'coder', 'project-planner', 'researcher', 'tester', 'writer']

let heddle: TestHeddle
beforeEach(() => {
  heddle = newHeddle()
})
afterEach(() => heddle.remove())

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}
const inFolder = (name: string, text: string) => write(join(heddle.folder, '.claude/agents', name), text)
const inHome = (name: string, text: string) => write(join(heddle.home, 'skills', name), text)
const listed = async () => (await heddle.json<{ agents: Agent[] }>('agents')).agents

/** An editor that writes this over what it is given. */
function editor(text: string): { EDITOR: string } {
  const script = write(join(heddle.folder, '../editor.sh'), `#!/bin/sh\ncat > "$1" <<'END'\n${text}END\n`)
  chmodSync(script, 0o755)
  return { EDITOR: script }
}

describe('heddle agents', () => {
  test('lists ours before there is a home, and makes none', async () => {
    expect((await listed()).map(({ name }) => name)).toEqual(ours)
    expect(existsSync(heddle.home)).toBe(false)
    expect(await heddle.json('skills')).toEqual(await heddle.json('agents', 'ls'))
  })

  test('a row has what programs rely on, and not its text', async () => {
    const [row] = await listed()
    expect(row).toEqual({
      name: 'code-review',
      description: expect.any(String),
      triggers: expect.arrayContaining(['review']),
      tools: ['read_file', 'list_dir', 'search_files', 'exec'],
      ask: [],
      limits: [],
      model: null,
      path: expect.stringMatching(/agents\/code-review\.md$/),
      format: 'heddle',
      source: 'built-in',
      status: 'ready',
      promptTokens: expect.any(Number),
      diagnostics: [],
      hash: expect.any(String),
    })
  })

  test('on a screen: names, states, where they come from and what they can do, in 80 columns', async () => {
    inHome('coder.md', file('coder'))
    inHome('half.md', '---\nname: half\n')
    inFolder('fixer.md', file('fixer', `about: ${'long '.repeat(40)}\n`))
    inHome(`${'long-'.repeat(10)}name.md`, file(`${'long-'.repeat(10)}name`, ''))
    const { out, code } = await heddle.run('agents')
    expect(code).toBe(0)
    expect(out.split('\n').filter((line) => width(line) > 80)).toEqual([])
    expect(out).toMatch(/^coder +Does coder\.\n +home · \d+ tokens · read_file$/m)
    expect(out).toMatch(/^coder +NOT USED {2}/m)
    expect(out).toMatch(/^fixer +UNTRUSTED {2}Does fixer\.$/m)
    expect(out).toMatch(/^half +BROKEN {2}the frontmatter never ends \(line 1\)$/m)
    expect(out).toMatch(/\n\n1 broken, 1 untrusted, 1 not used {4}heddle agents check\n$/)
  })

  test('directories of the configuration are part of it, and one that is not there is told', async () => {
    const named = join(heddle.folder, '../mine')
    write(join(named, 'mine.md'), file('mine'))
    write(join(heddle.home, 'heddle.yaml'), `skills: [${named}, /nowhere]\n`)
    const answer = await heddle.json<{ agents: Agent[]; diagnostics: unknown[] }>('agents')
    expect(answer.agents.find(({ name }) => name === 'mine')).toMatchObject({ source: 'config', status: 'ready' })
    expect(answer.diagnostics).toMatchObject([{ path: '/nowhere', message: 'there is no such directory' }])
  })
})

describe('heddle agents show', () => {
  test('the whole file, what it means and what is to be said about it', async () => {
    inHome('fixer.md', file('fixer', 'colour: \u001b[31mred\u202e\n'))
    const { out } = await heddle.run('agents', 'show', 'fixer')
    expect(out).toContain('@fixer\n')
    expect(out).toMatch(/^tools {4}read_file$/m)
    expect(out).toContain('You do fixer.')
    for (const hidden of ['\u001b', '\u202e']) expect(out).not.toContain(hidden)
    expect(await heddle.json('agents', 'show', '@fixer')).toMatchObject({ body: 'You do fixer.', format: 'heddle' })
  })

  test('without the word show, too; and a word that is neither an agent nor a command finds the nearest', async () => {
    expect((await heddle.run('agents', 'coder')).out).toMatch(/^@coder\n/)
    expect(await heddle.run('agents', 'chekc')).toMatchObject({
      code: 2,
      err: 'there is no command "chekc"\n  → did you mean: heddle agents check\n',
    })
    expect((await heddle.run('agents', 'codre')).err).toContain('did you mean coder?')
  })

  test('a name that is not there: the nearest one', async () => {
    expect(await heddle.run('agents', 'show', 'cdoer')).toMatchObject({
      code: 1,
      err: 'there is no agent "cdoer"\n  → did you mean coder?\n',
    })
  })
})

describe('heddle agents new', () => {
  test('writes a file that is ready, and refuses to write it twice', async () => {
    const { out, code } = await heddle.run('agents', 'new', 'release-notes')
    const path = join(heddle.home, 'skills/release-notes.md')
    expect([code, out]).toEqual([0, `wrote ${path}\nfill it in: heddle agents edit release-notes\n`])
    expect((await listed()).find(({ name }) => name === 'release-notes')).toMatchObject({ status: 'ready', path })
    const before = readFileSync(path, 'utf8')
    expect(await heddle.run('agents', 'new', 'release-notes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('heddle agents edit release-notes'),
    })
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test('in the folder it waits for trust', async () => {
    const made = await heddle.json('agents', 'new', 'local', '--folder')
    expect(made).toEqual({
      ok: true,
      name: 'local',
      path: join(heddle.folder, '.heddle/agents/local.md'),
      trusted: false,
    })
    expect((await listed()).find(({ name }) => name === 'local')?.status).toBe('untrusted')
  })

  test.each([
    ['Release Notes', 'heddle agents new release-notes'],
    ['coordinator', 'rename it'],
    ['../escape', 'heddle agents new escape'],
    ['c\u043eder', 'such as release-notes'],
  ])('%s is no name', async (name, remedy) => {
    const { code, err } = await heddle.run('agents', 'new', name)
    expect([code, err]).toEqual([2, expect.stringContaining(remedy)])
  })

  test('a name of ours is taken', async () => {
    expect((await heddle.run('agents', 'new', 'coder')).code).toBe(1)
  })
})

describe('heddle agents check', () => {
  test('an agent that is called like a paper for readers is one all the same', async () => {
    for (const name of ['changelog', 'readme']) {
      const { path } = await heddle.json<{ path: string }>('agents', 'new', name)
      expect(path).toBe(join(heddle.home, 'skills', `${name}.md`))
      expect((await heddle.json<{ name: string; status: string }>('agents', 'show', name)).status).toBe('ready')
    }
  })

  test('the list says who answers when nobody is named', async () => {
    const said = '@coordinator answers and gives them work; @general works alone    agent.default'
    expect((await heddle.run('agents')).out).toContain(`\n\n${said}\n\n`)
    await heddle.run('config', 'set', 'agent.default', '@coder')
    expect((await heddle.run('agents')).out).toContain('\n\n@coder answers    agent.default\n\n')
  })

  test('takes names, too', async () => {
    const { code, out } = await heddle.run('agents', 'check', '@researcher', 'coder')
    expect([code, out.match(/^@\w+$/gm), out.match(/^state +ready$/gm)?.length]).toEqual([
      0,
      ['@researcher', '@coder'],
      2,
    ])
  })

  test('everything is said, and broken files end it with code 1', async () => {
    inHome('half.md', '---\nname: half\n')
    inHome('loose.md', '---\nname: loose\ndescription: Use it: often\ntools: Read, Bassh\n---\nx\n')
    const { code, out } = await heddle.run('agents', 'check')
    expect(code).toBe(1)
    expect(out).toContain('BROKEN  half  ')
    expect(out).toMatch(/error {3}line 1: the frontmatter never ends\n +→ put a line with ---/)
    expect(out).toMatch(/note {4}line 3: description has ": " in a text without quotes/)
    expect(out).toMatch(/warning line 4: there is no tool Bassh: it was left out\n +→ did you mean exec\?/)
    expect(out).toMatch(/\n8 agents: 1 broken, 1 degraded\n$/)
  })

  test('any directories, which become no more trusted by that', async () => {
    inFolder('fixer.md', file('fixer'))
    expect(await heddle.run('agents', 'check', '.claude/agents')).toMatchObject({
      code: 0,
      out: '1 agents, all ready\n',
    })
    expect((await listed()).find(({ name }) => name === 'fixer')?.status).toBe('untrusted')
    expect(await heddle.json('agents', 'check', 'nowhere')).toMatchObject({
      agents: [],
      diagnostics: [{ level: 'warning' }],
    })
  })

  test('ours are all right', async () => {
    expect(await heddle.json('agents', 'check')).toMatchObject({ ok: true })
  })
})

describe('heddle agents trust', () => {
  test('shows what it trusts, and holds until the file changes', async () => {
    const path = inFolder('fixer.md', file('fixer'))
    const { code, out } = await heddle.run('agents', 'trust', 'fixer', '--yes')
    expect(code).toBe(0)
    for (const part of [path, 'read_file', '13 bytes of instructions', /sha256 {3}[0-9a-f]{64}/])
      expect(out).toMatch(part)
    const state = async () => (await listed()).find(({ name }) => name === 'fixer')?.status
    expect(await state()).toBe('ready')
    inFolder('fixer.md', file('fixer', 'color: red\n'))
    expect(await state()).toBe('untrusted')
  })

  test('is given by a person: asked on a terminal, refused without one', async () => {
    inFolder('fixer.md', file('fixer'))
    expect(await heddle.run('agents', 'trust', 'fixer')).toMatchObject({
      code: 2,
      err: 'only the user can trust an agent file\n  → read it, then: heddle agents trust fixer --yes\n',
    })
    const no = heddle.terminal('agents', 'trust', 'fixer')
    await no.shows('trust this version? [y/N] ')
    no.type('n\n')
    expect((await no.ended).code).toBe(130)
    const yes = heddle.terminal('agents', 'trust', '.claude/agents/fixer.md')
    await yes.shows('trust this version? [y/N] ')
    yes.type('y\n')
    await yes.shows('is trusted until its file changes')
    expect((await yes.ended).code).toBe(0)
  })

  test('of two files with one name, one must be named', async () => {
    inFolder('fixer.md', file('fixer'))
    const path = write(join(heddle.folder, '.heddle/agents/fixer.md'), file('fixer'))
    expect(await heddle.run('agents', 'trust', 'fixer', '-y')).toMatchObject({
      code: 2,
      err: expect.stringContaining(path),
    })
    expect((await heddle.run('agents', 'trust', path, '-y')).code).toBe(0)
  })

  test('is needed in every folder for a file of skills: that lies where agents have worked', async () => {
    const skills = join(heddle.folder, 'skills')
    const path = write(join(skills, 'coder.md'), file('coder'))
    write(join(heddle.home, 'heddle.yaml'), `skills: [${JSON.stringify(skills)}]\n`)
    const elsewhere = join(heddle.folder, '../elsewhere')
    mkdirSync(elsewhere)
    const inOther = async (...args: string[]) => heddle.runWith({ cwd: elsewhere }, 'agents', ...args)
    const statuses = async () => {
      const { agents } = JSON.parse((await inOther('--json')).out) as { agents: Agent[] }
      return agents.filter(({ name }) => name === 'coder').map(({ source, status }) => `${source} ${status}`)
    }
    const shadowed = ['config ready', 'built-in ready']
    expect(await statuses()).toEqual(shadowed)

    expect((await heddle.run('ask', 'hello')).code).toBe(0)
    expect(await statuses()).toEqual(['config untrusted', 'built-in ready'])
    expect((await inOther('show', path)).out.replace(/\s+/g, ' ')).toContain(`heddle agents trust ${path}`)
    // A home of an earlier version has sessions, and nobody has noted their folders.
    rmSync(join(heddle.home, 'work-folders.jsonl'))
    expect(await statuses()).toEqual(['config untrusted', 'built-in ready'])

    expect((await inOther('trust', path, '--yes')).code).toBe(0)
    expect(await statuses()).toEqual(shadowed)
    write(path, file('coder', 'color: red\n'))
    expect(await statuses()).toEqual(['config untrusted', 'built-in ready'])
  }, 120_000)

  test('what needs no trust, is broken or is not there', async () => {
    inFolder('half.md', '---\n')
    expect((await heddle.run('agents', 'trust', 'coder', '-y')).err).toContain('needs no trust')
    expect((await heddle.run('agents', 'trust', 'half', '-y')).err).toContain('is broken')
    expect((await heddle.run('agents', 'trust', 'nobody', '-y')).err).toContain('there is no agent "nobody"')
  })
})

test('heddle agents names what was left out, with the reason and the way to have it', async () => {
  inHome('.system/pdf/SKILL.md', file('pdf'))
  const { out } = await heddle.run('agents')
  const text = out.replaceAll(/\s+/g, ' ')
  expect(text).toContain('.system/pdf/SKILL.md: it is in a hidden folder and was skipped')
  expect(text).toContain('add its directory to skills: in heddle.yaml')
  expect(await heddle.json('agents')).toMatchObject({ diagnostics: [{ level: 'warning' }] })
})

describe('heddle agents edit', () => {
  test('opens the file and says what it looks like afterwards', async () => {
    inHome('fixer.md', file('fixer'))
    const gone = await heddle.runWith({ env: editor(file('fixer', 'model: gone\n')) }, 'agents', 'edit', 'fixer')
    expect([gone.code, gone.out]).toEqual([1, expect.stringMatching(/^@fixer is broken[\s\S]*there is no model gone/)])
    const good = await heddle.runWith(
      { env: editor(file('fixer').replace('[read_file]', '[read_file, fly]')) },
      'agents',
      'edit',
      'fixer',
    )
    expect([good.code, good.out]).toEqual([0, expect.stringMatching(/^@fixer is degraded/)])
    const bad = await heddle.runWith({ env: editor('---\n') }, 'agents', 'edit', 'fixer')
    expect(bad.code).toBe(1)
    expect(bad.out).toContain('the frontmatter never ends')
  })

  test('of one of ours a copy in the home, which takes its place', async () => {
    const { code } = await heddle.runWith({ env: editor(file('coder')) }, 'agents', 'edit', 'coder')
    expect(code).toBe(0)
    const [mine, theirs] = (await listed()).filter(({ name }) => name === 'coder')
    expect(mine).toMatchObject({ source: 'home', description: 'Does coder.' })
    expect(theirs).toMatchObject({ source: 'built-in', shadowedBy: mine?.path })
  })

  test('of one of ours that was left as it is, no copy stays', async () => {
    const { code, out } = await heddle.runWith({ env: { EDITOR: 'true' } }, 'agents', 'edit', 'coder')
    expect([code, out]).toEqual([0, expect.stringMatching(/^nothing was changed/)])
    expect(existsSync(join(heddle.home, 'skills/coder.md'))).toBe(false)
  })

  test('without an editor it says how to name one', async () => {
    expect(await heddle.run('agents', 'edit', 'coder')).toMatchObject({
      code: 2,
      err: expect.stringContaining('EDITOR=nano heddle agents edit coder'),
    })
    expect(existsSync(join(heddle.home, 'skills/coder.md'))).toBe(false)
  })
})
