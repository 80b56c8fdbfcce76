import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asNobody } from '../setup/as-nobody.ts'
import { isRoot } from '../setup/root.ts'
import { untilSo } from '../setup/until.ts'
import { type CommandFolder, commandFolder, nobody } from './command-folder.ts'

let folder: CommandFolder
const at = (...names: string[]) => join(folder.path, ...names)
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=owner', '-c', 'user.email=owner@example.org', ...args], {
    cwd: folder.path,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: folder.outside },
  })
const identity = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=/tmp'

beforeEach(async () => {
  folder = await commandFolder()
  git('init', '-q', '-b', 'main')
  writeFileSync(at('a.txt'), '1\n')
  git('add', 'a.txt')
  git('commit', '-q', '-m', 'first')
})
afterEach(() => folder.remove())

describe('what git would run later cannot be changed by a command', () => {
  const config = () => readFileSync(at('.git', 'config'), 'utf8')

  test.each([
    ['a hook', 'echo evil > .git/hooks/pre-commit'],
    ['a setting', 'git config core.fsmonitor ./evil'],
    ['a line in the configuration', 'echo "[core] fsmonitor = ./evil" >> .git/config'],
    ['another file in the place of the configuration', 'cp .git/config c; mv c .git/config'],
    ['another directory in the place of the hooks', 'mkdir h; mv .git/hooks x; mv h .git/hooks'],
    ['another directory in the place of .git', 'mv .git gone; mkdir .git'],
    ['by way of a link', 'ln -s .git g; echo evil > g/hooks/pre-commit; echo evil >> g/config'],
    ['by way of a hard link', 'ln .git/config c && echo evil >> c'],
    ['by way of the root of a process', 'echo evil > /proc/self/root$PWD/.git/hooks/pre-commit'],
    ['a remote', 'git remote add origin ext::evil'],
    ['removal', 'rm -rf .git/hooks .git/config'],
  ])('%s', async (_, command) => {
    const [settings, hooks] = [config(), readdirSync(at('.git', 'hooks'))]
    await folder.run(command)
    expect(config()).toBe(settings)
    expect(readdirSync(at('.git', 'hooks'))).toEqual(hooks)
  })

  test('and ordinary work goes on: status, diff, add, commit, branch, checkout, stash', async () => {
    const said = await folder.run(
      `${identity}; set -e; echo 2 >> a.txt; git status --short; git diff --stat; git add a.txt; git commit -q -m second
       git branch side; git checkout -q side; echo 3 > b.txt; git add b.txt; git stash -q; git stash pop -q; git commit -q -m third
       git checkout -q main; git merge -q side; git log --oneline | wc -l`,
    )
    expect(said).toContain('3\n[exit 0]')
    expect(git('log', '--format=%s').trim().split('\n')).toEqual(['third', 'second', 'first'])
  })

  test('and the model is told why git could not change its configuration', async () => {
    expect(await folder.run('git remote add origin https://example.org/x.git')).toMatch(
      /\[heddle: \.git\/config and \.git\/hooks are read-only for commands.*give the user the command to run\]$/s,
    )
    expect(await folder.run('git status --short')).not.toContain('[heddle:')
  })

  test('nothing is made on the disk for that', async () => {
    rmSync(at('.git', 'hooks'), { recursive: true })
    await folder.run('true')
    expect(existsSync(at('.git', 'hooks'))).toBe(false)
    expect(git('status', '--porcelain', '--ignored')).toBe('')
  })
})

describe('what appears while a command runs is moved aside and named', () => {
  test('a repository of its own, with its configuration and hooks', async () => {
    const said = await folder.run(`git init -q sub && echo '#!/bin/sh' > sub/.git/hooks/pre-commit`)
    expect(said).toContain('sub/.git/config is now sub/.git/config.untrusted')
    expect(said).toContain('sub/.git/hooks is now sub/.git/hooks.untrusted')
    expect(said).toContain('heddle git trust sub/.git]')
    expect(readdirSync(at('sub', '.git')).filter((name) => /config|hooks/.test(name))).toEqual([
      'config.untrusted',
      'hooks.untrusted',
    ])
    // And again, as often as a command puts it back.
    expect(await folder.run('mv sub/.git/config.untrusted sub/.git/config')).toContain('sub/.git/config is now')
  })

  test.each([
    [
      'hooks where there were none',
      () => rmSync(at('.git', 'hooks'), { recursive: true }),
      'mkdir .git/hooks; echo x > .git/hooks/pre-commit',
      '.git/hooks',
    ],
    [
      'a directory for everything that repositories share',
      () => undefined,
      'echo ../evil > .git/commondir',
      '.git/commondir',
    ],
    [
      'a directory that git takes for a repository',
      () => undefined,
      'mkdir -p docs/objects docs/refs; echo "ref: refs/heads/main" > docs/HEAD; echo "[core]" > docs/config',
      'docs/config',
    ],
    [
      'a file that leads to a git directory',
      () => undefined,
      'mkdir sub; echo "gitdir: ../evil" > sub/.git',
      'sub/.git',
    ],
    ['a link that leads to one', () => undefined, 'mkdir sub; ln -s ../evil sub/.git', 'sub/.git'],
    [
      'a work tree of its own configuration',
      () => undefined,
      'echo "[core]" > .git/config.worktree',
      '.git/config.worktree',
    ],
    ['one in an ignored folder', () => writeFileSync(at('.gitignore'), 'out\n'), 'git init -q out', 'out/.git/config'],
    [
      'the hooks that the configuration names',
      () => git('config', 'core.hooksPath', '.hooks'),
      'mkdir .hooks; echo x > .hooks/pre-commit',
      '.hooks',
    ],
    [
      'a configuration that it includes',
      () => git('config', 'include.path', '../more.gitconfig'),
      'echo "[alias]" > more.gitconfig',
      'more.gitconfig',
    ],
  ])('%s', async (_, prepare, command, path) => {
    prepare()
    const said = await folder.run(command)
    expect(said).toContain(`${path} is now ${path}.untrusted`)
    expect(existsSync(at(path))).toBe(false)
    expect(
      existsSync(at(`${path}.untrusted`)) ||
        readdirSync(at(path, '..')).includes(`${path.split('/').at(-1)}.untrusted`),
    ).toBe(true)
  })

  test('whatever ends the command: time, a signal to it, or the user', async () => {
    const init = (name: string) => `git init -q ${name}; sleep 100`
    expect(await folder.run(init('late'), { timeout_seconds: 1 })).toContain('late/.git/config is now')
    const stop = new AbortController()
    const stopped = folder.call({ command: `git init -q gone && touch ready; sleep 100` }, stop.signal)
    await untilSo(() => existsSync(at('ready')))
    stop.abort(new Error('stopped'))
    expect((await stopped).output).toContain('[killed: stopped]')
    expect(existsSync(at('gone', '.git', 'config'))).toBe(false)
  })
})

test('a directory that a command has closed is opened and looked through; one that the owner closed is in the way', () => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-unlisted-')))
  if (isRoot) chownSync(place, nobody, nobody)
  const said = (...commands: string[]) => {
    const [program, args] = asNobody(join(import.meta.dirname, 'exec-program.ts'), place, ...commands)
    const text = execFileSync(program, args, { encoding: 'utf8', cwd: '/' })
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
  const [closed, shut] = said(
    'mkdir sub && git init -q sub/r && chmod 300 sub',
    'git init -q . && chmod 555 .git && mkdir z && chmod 000 z',
  )
  expect(closed).toContain('sub/r/.git/config is now sub/r/.git/config.untrusted')
  expect(shut).toContain('.git/config is now .git/config.untrusted')
  mkdirSync(join(place, 'owners'))
  if (isRoot) chownSync(join(place, 'owners'), nobody, nobody)
  chmodSync(join(place, 'owners'), 0)
  expect(said('true')).toMatchObject([
    { status: 'forbidden', error: expect.stringContaining(`chmod u+rx '${place}/owners'`) },
  ])
  rmSync(place, { recursive: true })
})

describe('what git runs is found wherever the owner has put it, and read-only there', () => {
  const script = (path: string) => {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), '#!/bin/sh\n', { mode: 0o755 })
  }
  const hooksTo = (path: string) => {
    rmSync(at('.git/hooks'), { recursive: true })
    symlinkSync(path, at('.git/hooks'))
  }
  test.each<[string, string, () => void]>([
    ['hooks that are a link', 'githooks/pre-commit', () => [script('githooks/pre-commit'), hooksTo('../githooks')]],
    [
      'a hook that is a link',
      'scripts/check',
      () => [script('scripts/check'), symlinkSync('../../scripts/check', at('.git/hooks/pre-commit'))],
    ],
    [
      'a configuration that is a link',
      'settings',
      () => [renameSync(at('.git/config'), at('settings')), symlinkSync('../settings', at('.git/config'))],
    ],
    [
      'hooks named in an included file',
      '.hooks/pre-commit',
      () => [
        script('.hooks/pre-commit'),
        writeFileSync(at('more'), '[core]\n\thooksPath = .hooks\n'),
        git('config', 'include.path', '../more'),
      ],
    ],
    [
      'hooks named with quotes',
      'my hooks/pre-commit',
      () => [
        script('my hooks/pre-commit'),
        appendFileSync(at('.git/config'), '[core]\n\thooksPath = my" hooks" # ours\n'),
      ],
    ],
    [
      'hooks of a work tree inside the folder',
      'tree/.hooks/pre-commit',
      () => [
        git('config', 'core.hooksPath', '.hooks'),
        git('worktree', 'add', '-q', 'tree'),
        script('tree/.hooks/pre-commit'),
      ],
    ],
    [
      'a script that a filter runs',
      'clean.sh',
      () => [script('clean.sh'), git('config', 'filter.x.clean', 'sh ./clean.sh %f')],
    ],
    ['another name of the configuration', 'cfg', () => linkSync(at('.git/config'), at('cfg'))],
  ])('%s', async (_, path, prepare) => {
    prepare()
    const before = readFileSync(at(path), 'utf8')
    expect(await folder.run(`echo evil >> '${path}'`)).toMatch(/Read-only file system/)
    expect(readFileSync(at(path), 'utf8')).toBe(before)
  })
})

test.each([
  [
    'a directory whose name is not UTF-8',
    `d=$(printf 'sub\\377'); mkdir "$d"; cd "$d"; git init -q`,
    'renamed-1.untrusted/.git/config',
  ],
  [
    'a repository inside of .git',
    'git init -q .git/objects/q/app; ln -s .git/objects/q/app app',
    '.git/objects/q/app/.git/config',
  ],
  [
    'steps of a rebase that run commands',
    'mkdir .git/rebase-merge; echo "exec evil" > .git/rebase-merge/git-rebase-todo',
    '.git/rebase-merge/git-rebase-todo',
  ],
])('%s hides nothing', async (_, command, path) => {
  expect(await folder.run(command)).toContain(`${path} is now ${path}.untrusted`)
})

test('no directory on the way to a repository can be renamed while a command runs: another could mount what is put there', async () => {
  mkdirSync(at('sub', 'deep'), { recursive: true })
  execFileSync('git', ['init', '-q', at('sub', 'deep', 'repo')])
  expect(await folder.run('mv sub other; mv sub/deep x; mv sub/deep/repo y; ls -d sub/deep/repo')).toMatch(
    /busy.*busy.*busy.*sub\/deep\/repo\n/s,
  )
})

test('what one command has just made is not known to another beside it, which could change it later', async () => {
  const records = mkdtempSync(join(tmpdir(), 'heddle-guards-'))
  folder.remove()
  folder = await commandFolder({}, { guardRecords: records })
  const first = folder.run('git init -q sub && touch made && until [ -e go ]; do sleep 0.05; done')
  await untilSo(() => existsSync(at('made')))
  const second = folder.run(
    'touch begun; until [ ! -e sub/.git/config ]; do sleep 0.05; done; echo "[core] fsmonitor = evil" > sub/.git/config',
  )
  await untilSo(() => existsSync(at('begun')))
  writeFileSync(at('go'), '')
  expect(await first).toContain('sub/.git/config is now')
  expect(await second).toContain('sub/.git/config is now')
  expect(existsSync(at('sub', '.git', 'config'))).toBe(false)
  expect(readdirSync(records)).toEqual([])
  rmSync(records, { recursive: true })
})

test('hooks and configurations that were there and lie elsewhere in the folder are read-only, in submodules too', async () => {
  mkdirSync(at('.hooks'))
  writeFileSync(at('.hooks', 'pre-commit'), '#!/bin/sh\n')
  chmodSync(at('.hooks', 'pre-commit'), 0o755)
  git('config', 'core.hooksPath', '.hooks')
  mkdirSync(at('.git', 'modules', 'sub', 'hooks'), { recursive: true })
  mkdirSync(at('.git', 'modules', 'sub', 'objects'))
  mkdirSync(at('.git', 'modules', 'sub', 'refs'))
  writeFileSync(at('.git', 'modules', 'sub', 'HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(at('.git', 'modules', 'sub', 'config'), '')
  mkdirSync(at('sub'))
  writeFileSync(at('sub', '.git'), 'gitdir: ../.git/modules/sub\n')
  symlinkSync('.hooks', at('linked'))
  const writes = [
    '.hooks/pre-commit',
    '.hooks/new',
    'linked/new',
    '.git/modules/sub/config',
    '.git/modules/sub/hooks/x',
    'sub/.git',
  ]
  for (const path of writes) expect(await folder.run(`echo evil > ${path}`), path).toMatch(/Read-only file system/)
  expect(await folder.run('mv .hooks h; mv sub/.git g; true')).toMatch(/busy.*busy/s)
})
