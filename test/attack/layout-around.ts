import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Paths } from './ground.ts'
import type { Place } from './watch.ts'

/**
 * The folder is part of two repositories and has one of its own. Their configuration, hooks that are links, and the
 * owner's own configuration lead into the folder.
 */
export function layOutAround({ root, folder, user }: Paths): Place[] {
  const git = (where: string, ...args: string[]) =>
    execFileSync('git', ['-C', where, ...args], {
      env: { PATH: process.env['PATH'], HOME: user, GIT_CONFIG_NOSYSTEM: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text, { mode })
  }
  const script = (path: string) => write(path, '#!/bin/sh\nexit 0\n', 0o755)
  const [mono, name] = [dirname(folder), relative(dirname(folder), folder)]
  for (const where of [root, mono, folder]) {
    git(where, 'init', '-q', '-b', 'main')
    git(where, 'config', 'user.name', 'Owner')
    git(where, 'config', 'user.email', 'owner@localhost')
  }
  writeFileSync(join(folder, 'file.txt'), 'one\n')
  git(folder, 'add', 'file.txt')
  git(folder, 'commit', '-q', '-m', 'first')
  script('hooks/pc')
  symlinkSync(join(folder, 'hooks/pc'), join(root, '.git/hooks/pre-commit'))
  script('.husky/pre-commit')
  write('g.conf', '[alias]\n\tst = status\n')
  git(mono, 'config', 'core.hooksPath', `${name}/.husky`)
  git(mono, 'config', 'include.path', `../${name}/g.conf`)
  git(mono, 'config', 'includeIf.gitdir:/.path', `../${name}/conf/more.conf`)
  script('.githooks/pre-commit')
  write('shared.gitconfig', '[alias]\n\tlg = log\n')
  git(folder, 'config', 'filter.z.clean', './tools/clean.sh')
  const own = join(user, '.gitconfig')
  git(folder, 'config', '--file', own, `includeIf.gitdir:${folder}/.path`, '~/.gitconfig-work')
  git(folder, 'config', '--file', own, 'include.path', join(folder, 'shared.gitconfig'))
  writeFileSync(join(user, '.gitconfig-work'), '[core]\n\thooksPath = .githooks\n')
  const at = (about: string, path: string, file = path): Place => ({
    name: about,
    path: join(folder, path),
    file: join(folder, file),
  })
  return [
    at('hooks of a repository around', '.husky', '.husky/pre-commit'),
    at('the target of a hook around', 'hooks/pc'),
    at('a file that a config around includes', 'g.conf'),
    at("hooks that the owner's config names", '.githooks', '.githooks/pre-commit'),
    at("a file that the owner's config includes", 'shared.gitconfig'),
    at('a missing file that a config around includes', 'conf/more.conf'),
    at('a missing program of a filter', 'tools/clean.sh'),
  ]
}
