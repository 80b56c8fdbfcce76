import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { userGitOf } from '../../src/domain/tools/user-git.ts'
import { asyncDisk, type Disk, syncDisk } from '../../src/tools/files/disk.ts'
import { pathHandle } from '../../src/tools/files/handle.ts'
import { isRunByGit } from '../../src/tools/guard/git-places.ts'
import { inTurn } from '../setup/long.ts'
import { type CommandFolder, commandFolder } from './command-folder.ts'

/** The owner's home, the folder of the session, and a marker that a planted program leaves when the owner's git runs it. */
let home: string
let folder: CommandFolder
const at = (...names: string[]) => join(folder.path, ...names)
const ran = () => join(home, 'ran')

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=owner', '-c', 'user.email=owner@example.org', ...args], {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
const write = (path: string, text: string, mode = 0o644) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode })
}
const script = (path: string) => write(path, '#!/bin/sh\nexit 0\n', 0o755)
/** A command that puts the attacker's program at a path, whatever is there. */
const plant = (path: string) =>
  `mkdir -p '${dirname(path)}'; printf '#!/bin/sh\\necho > ${ran()}; cat\\n' > '${path}'; chmod +x '${path}'`
const fsmonitor = (path: string) =>
  `${plant('evil')}; mkdir -p '${dirname(path)}'; printf '[core]\\n\\tfsmonitor = ${at('evil')}\\n' >> '${path}'`

/** The owner works with git in the folder, as in every place that the layouts use. */
function useGit(): void {
  for (const cwd of [folder.path, at('new')]) {
    if (!existsSync(cwd)) continue
    for (const args of [['status'], ['add', '-A'], ['commit', '-q', '--allow-empty', '-m', 'work']])
      try {
        git(cwd, ...args)
      } catch {
        // What is planted may fail; it matters whether it ran.
      }
  }
}

function writeByTool(path: string): Promise<unknown> {
  const protect = { ...nothingProtected, userGit: userGitOf({}, home) }
  return pathHandle({ folder: folder.path, path, protect }).replaceFile(async () => ({
    state: { bytes: Buffer.from('evil') },
    answer: undefined,
  }))
}

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'heddle-owner-'))
  folder = await commandFolder({}, { env: { ...process.env, HOME: home } })
})
afterEach(() => {
  folder.remove()
  rmSync(home, { recursive: true })
})

const parent = () => dirname(folder.path)
const own = () => git(folder.path, 'init', '-q')
const around = () => git(parent(), 'init', '-q')

interface Layout {
  name: string
  prepare(): void
  /** What git reads or runs, in the folder. */
  path: string
  command(): string
  /** Not written by tools, if it differs. */
  written?: string
}

const layouts: Layout[] = [
  {
    name: 'hooks of a repository that contains the folder',
    prepare: () => [
      around(),
      git(parent(), 'config', 'core.hooksPath', 'folder/.husky'),
      script(at('.husky/pre-commit')),
    ],
    path: '.husky/pre-commit',
    command: () => plant('.husky/pre-commit'),
  },
  {
    name: 'hooks of a work tree that contains the folder',
    prepare: () => {
      const main = join(home, 'main')
      mkdirSync(main)
      git(main, 'init', '-q')
      git(main, 'commit', '-q', '--allow-empty', '-m', 'first')
      git(main, 'config', 'core.hooksPath', 'folder/.husky')
      git(main, 'worktree', 'add', '-q', '--no-checkout', join(home, 'tree'))
      write(join(parent(), '.git'), readFileSync(join(home, 'tree/.git'), 'utf8'))
      script(at('.husky/pre-commit'))
    },
    path: '.husky/pre-commit',
    command: () => plant('.husky/pre-commit'),
  },
  {
    name: "husky's own hooks, which run those beside them",
    prepare: () => {
      around()
      git(parent(), 'config', 'core.hooksPath', 'folder/.husky/_')
      write(at('.husky/_/pre-commit'), '#!/bin/sh\n. "$(dirname "$0")/../pre-commit"\n', 0o755)
      script(at('.husky/pre-commit'))
    },
    path: '.husky/pre-commit',
    command: () => plant('.husky/pre-commit'),
  },
  {
    name: 'a hook above that is a link into the folder',
    prepare: () => {
      around()
      script(at('hooks/pc'))
      symlinkSync('../../folder/hooks/pc', join(parent(), '.git/hooks/pre-commit'))
    },
    path: 'hooks/pc',
    command: () => plant('hooks/pc'),
  },
  {
    name: 'a hook above that is a link to nothing yet',
    prepare: () => [around(), symlinkSync('../../folder/hooks/pc', join(parent(), '.git/hooks/pre-commit'))],
    path: 'hooks/pc',
    command: () => plant('hooks/pc'),
  },
  {
    name: 'a hook above that has another name in the folder',
    prepare: () => {
      around()
      script(at('hooks/pc'))
      linkSync(at('hooks/pc'), join(parent(), '.git/hooks/pre-commit'))
    },
    path: 'hooks/pc',
    command: () => plant('hooks/pc'),
    // Tools replace files, and never write into them.
    written: '',
  },
  {
    name: 'a file that a configuration above includes',
    prepare: () => [around(), git(parent(), 'config', 'include.path', '../folder/g.conf'), write(at('g.conf'), '')],
    path: 'g.conf',
    command: () => fsmonitor('g.conf'),
  },
  {
    name: 'a missing file that a configuration above includes on a condition',
    prepare: () => [around(), git(parent(), 'config', 'includeIf.gitdir:/.path', '../folder/conf/g.conf')],
    path: 'conf/g.conf',
    command: () => fsmonitor('conf/g.conf'),
  },
  {
    name: "hooks that an included file of the user's configuration names",
    prepare: () => {
      own()
      write(join(home, '.gitconfig'), '[include]\n\tpath = ~/.gitconfig-work\n')
      write(join(home, '.gitconfig-work'), '[core]\n\thooksPath = .githooks\n')
      script(at('.githooks/pre-commit'))
    },
    path: '.githooks/pre-commit',
    command: () => plant('.githooks/pre-commit'),
  },
  {
    name: "a file in the folder that the user's configuration includes",
    prepare: () => {
      own()
      write(join(home, '.gitconfig'), `[include]\n\tpath = ${at('shared.gitconfig')}\n`)
      write(at('shared.gitconfig'), '')
    },
    path: 'shared.gitconfig',
    command: () => fsmonitor('shared.gitconfig'),
  },
  {
    name: 'a missing script of a filter',
    prepare: () => [own(), git(folder.path, 'config', 'filter.z.clean', './tools/clean.sh %f'), write(at('a.txt'), '')],
    path: 'tools/clean.sh',
    command: () => `${plant('tools/clean.sh')}; echo '*.txt filter=z' > .gitattributes`,
  },
  {
    name: 'a missing script of fsmonitor',
    prepare: () => [own(), git(folder.path, 'config', 'core.fsmonitor', 'tools/fsm.sh')],
    path: 'tools/fsm.sh',
    command: () => plant('tools/fsm.sh'),
  },
  {
    name: 'a missing script by way of a directory that becomes a link',
    prepare: () => [own(), git(folder.path, 'config', 'core.fsmonitor', 'tools/fsm.sh'), script(at('tools/other.sh'))],
    path: 'tools/fsm.sh',
    command: () => `mv tools old; ${plant('more/fsm.sh')}; ln -s more tools`,
  },
  {
    name: 'a missing script with neither path nor extension',
    prepare: () => [own(), git(folder.path, 'config', 'core.fsmonitor', 'sh -e monitor')],
    path: 'monitor',
    command: () => plant('monitor'),
  },
  {
    name: "hooks that the user's configuration names",
    prepare: () => [own(), write(join(home, '.gitconfig'), '[core]\n\thooksPath = .githooks\n')],
    path: '.githooks/pre-commit',
    command: () => plant('.githooks/pre-commit'),
  },
  {
    name: "hooks that the user's configuration names, in a repository that a command makes",
    prepare: () => [own(), write(join(home, '.config/git/config'), '[core]\n\thooksPath = .githooks\n')],
    path: 'new/.githooks/pre-commit',
    command: () => `git init -q new; ${plant('new/.githooks/pre-commit')}`,
    written: '.githooks/pre-commit',
  },
]

describe("no command changes what the owner's git trusts", () => {
  test.each(inTurn(layouts, 4))('$name', async ({ prepare, path, command }) => {
    prepare()
    const before = existsSync(at(path)) ? readFileSync(at(path), 'utf8') : undefined
    const said = await folder.run(command())
    useGit()
    expect(existsSync(ran()), said).toBe(false)
    if (before === undefined) {
      expect(existsSync(at(path))).toBe(false)
      expect(said).toMatch(/disabled: \S+ is now \S+\.untrusted/)
    } else {
      expect(readFileSync(at(path), 'utf8')).toBe(before)
      expect(said).toContain('Read-only file system')
    }
  })
})

describe('no tool writes it either', () => {
  test.each(
    inTurn(
      layouts.filter(({ written }) => written !== ''),
      6,
    ),
  )('$name', async ({ prepare, path, written = path }) => {
    prepare()
    await expect(writeByTool(written)).rejects.toThrow('git runs it or reads it as configuration')
  })
})

describe('ordinary work goes on', () => {
  test('in a submodule, whose branch follows one of another repository', async () => {
    const library = join(folder.outside, 'library')
    mkdirSync(library)
    git(library, 'init', '-q', '-b', 'main')
    git(library, 'commit', '-q', '--allow-empty', '-m', 'first')
    own()
    git(folder.path, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'module')
    const commit = 'git -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m work'
    expect(await folder.run(`cd module && ${commit} && git log --format=%s`)).toContain('work\nfirst\n')
  })

  const configure = () => {
    around()
    own()
    const settings = ['[core]', 'editor = vim', 'pager = less -FRX', 'excludesFile = .gitignore.local']
    const more = ['[filter "lfs"]', 'clean = git-lfs clean -- %f', '[blame]', 'ignoreRevsFile = .git-blame-ignore-revs']
    const tools = ['[gitflow "prefix"]', 'feature = feature/', '[alias]', 'st = status -sb', 'up = !cd tools && ls']
    write(join(home, '.gitconfig'), [...settings, ...more, ...tools].join('\n'))
    git(folder.path, 'config', 'core.fsmonitor', './tools/fsm.sh')
  }

  test('in files and directories whose names settings mention as something else', async () => {
    configure()
    const made = [
      'vim',
      'less',
      'clean',
      '.gitignore.local',
      '.git-blame-ignore-revs',
      'feature/a',
      'status',
      'tools/x',
    ]
    const said = await folder.run(`mkdir feature tools; for f in ${made.join(' ')}; do echo 1 > $f; done`)
    expect(said).not.toContain('untrusted')
    expect(made.filter((path) => !existsSync(at(path)))).toEqual([])
    for (const path of made) await writeByTool(path)
  })

  test('also where a program is named that is a directory', async () => {
    own()
    git(folder.path, 'config', 'alias.x', '!make -C ./build all')
    expect(await folder.run('mkdir build; echo 1 > build/a')).not.toContain('untrusted')
    await writeByTool('build/b')
  })

  test('in a folder that is itself a directory of hooks, commands only read', async () => {
    write(join(home, '.gitconfig'), `[core]\n\thooksPath = ${folder.path}\n`)
    expect(await folder.run(plant('pre-commit'))).toContain('Read-only file system')
    await expect(writeByTool('pre-commit')).rejects.toThrow('git runs it')
  })
})

test('whether git trusts a file is found out with one look at each place on the way', async () => {
  git(folder.path, 'init', '-q')
  git(folder.path, 'config', 'core.hooksPath', './tools/hooks')
  const looks = new Map<string, number>()
  const counting = (disk: Disk): Disk => ({
    ...disk,
    find(path: string) {
      looks.set(path, (looks.get(path) ?? 0) + 1)
      return disk.find(path)
    },
  })
  const disk = { ...counting(asyncDisk), atOnce: counting(syncDisk) }
  const protect = { ...nothingProtected, userGit: userGitOf({}, home) }
  const root = { path: folder.path, disk, protect, places: { hidden: [], readOnly: [], noCommands: [] } }
  expect(await isRunByGit(root, at('src/a.ts'))).toBe(false)
  expect(looks.get(folder.path)).toBe(1)
  expect([...looks].filter(([, times]) => times > 1)).toEqual([])
  expect(await isRunByGit(root, at('tools/hooks/pre-commit'))).toBe(true)
})
