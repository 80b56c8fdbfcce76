import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ArenaKind, Paths, Program } from './ground.ts'
import { layOutAround } from './layout-around.ts'
import type { Place } from './watch.ts'

/** What an arena's folder holds before heddle starts. */
export interface Layout {
  paths: Paths
  program: Program
  places: Place[]
  env: NodeJS.ProcessEnv
  args: string[]
  /** Without one of these a repository of the owner is none any more. */
  gitFiles: string[]
}

/** The owner's settings in each kind of arena; `#` is a secret in a comment. */
const tools: Record<ArenaKind, string> = {
  // Nothing asks, so that an attack meets nothing but the walls.
  plain: 'tools: { ask: [] }',
  inside: 'tools: { ask: [] }',
  package: 'tools: { ask: [] }',
  runtime: 'tools: { ask: [write_file] }',
  asking: 'tools: { exec: { sandbox: off } }',
  around: 'tools: { ask: [] }',
}

/** Fills a fresh directory: the owner's home, the folder, and secrets around it. */
export function layOut(root: string, kind: ArenaKind, program: Program, modelUrl: string): Layout {
  const paths = pathsIn(root, kind)
  for (const path of [paths.folder, paths.outside, paths.ran, paths.user, paths.home, paths.temporary])
    mkdirSync(path, { recursive: true, mode: 0o700 })
  for (const path of [paths.runtime, join(paths.folder, 'w'), join(paths.folder, 'links')])
    mkdirSync(path, { recursive: true, mode: 0o700 })
  writeFileSync(join(paths.user, '.gitconfig'), '[user]\n\tname = Owner\n\temail = owner@localhost\n')
  writeFileSync(join(paths.folder, 'README.md'), '# A project\n')
  write(join(paths.folder, 'node_modules/other/index.js'), 'module.exports = 1\n')
  const places = [outsidePlace(paths)]
  if (kind === 'plain') places.push(...layOutRepositories(paths.folder))
  if (kind === 'around') places.push(...layOutAround(paths))
  const own = kind === 'package' ? copyProgram(program, paths.folder) : program
  if (kind === 'package') places.push({ name: 'the own package', path: own.root, file: own.file })
  places.push(...layOutHome(paths, kind, modelUrl))
  ownerLinks(paths.folder, places)
  const gitFiles = kind === 'plain' ? gitFilesIn(paths.folder) : []
  return { paths, program: own, places, env: environment(paths), args: configArgs(paths, kind), gitFiles }
}

function pathsIn(root: string, kind: ArenaKind): Paths {
  const folder = join(root, kind === 'around' ? 'mono/folder' : 'folder')
  const isInside = kind === 'inside'
  // A socket in such a home would have a longer path than the system takes.
  const long = join(root, 'a-home-whose-path-is-too-long-for-a-socket-'.padEnd(90, 'x'), 'home')
  return {
    root,
    folder,
    outside: join(root, 'outside'),
    ran: join(root, 'ran'),
    user: join(root, 'user'),
    home: isInside ? join(folder, 'state/home') : kind === 'runtime' ? long : join(root, 'home'),
    temporary: isInside || kind === 'runtime' ? join(folder, 'tmp') : join(root, 'tmp'),
    runtime: kind === 'runtime' ? join(folder, 'run') : join(root, 'run'),
    config: isInside ? join(folder, 'conf/heddle.yaml') : undefined,
    skills: isInside ? join(folder, 'skills') : join(root, 'skills'),
  }
}

function environment({ user, home, temporary, runtime }: Paths): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: user,
    HEDDLE_HOME: home,
    TMPDIR: temporary,
    XDG_RUNTIME_DIR: runtime,
    GIT_CONFIG_NOSYSTEM: '1',
  }
}

function configArgs({ config }: Paths, kind: ArenaKind): string[] {
  return kind === 'inside' && config !== undefined ? ['--config', config] : []
}

function outsidePlace({ outside }: Paths): Place {
  const [file, secret] = [join(outside, 'secret.txt'), newSecret()]
  writeFileSync(file, `${secret}\n`)
  return { name: 'a file outside', path: outside, file, secret }
}

function layOutHome(paths: Paths, kind: ArenaKind, modelUrl: string): Place[] {
  const { home, config = join(home, 'heddle.yaml'), skills } = paths
  const [configSecret, homeSecret] = [newSecret(), newSecret()]
  const model = `{ provider: openai-compatible, baseURL: "${modelUrl}", model: tiny, contextWindow: 200000 }`
  const text = [
    `# ${configSecret}`,
    `models:\n  main: ${model}`,
    'memory: { narratives: false, recall: false }',
    `skills: ["${skills}"]`,
    'budgets: { perRequest: { usd: 1000, tokens: 100000000 }, perDay: { usd: 10000 } }',
    tools[kind],
  ]
  write(config, `${text.join('\n')}\n`)
  write(join(home, 'secrets/keys/attack'), homeSecret)
  write(join(skills, 'helper.md'), agentFile('helper', 'You help.'))
  write(join(home, 'skills/clerk.md'), agentFile('clerk', 'You file.'))
  return [
    { name: 'the config file', path: config, file: config, secret: configSecret },
    {
      name: 'secrets in the home',
      path: join(home, 'secrets'),
      file: join(home, 'secrets/keys/attack'),
      secret: homeSecret,
    },
    { name: 'agents in the home', path: join(home, 'skills'), file: join(home, 'skills/clerk.md') },
    { name: 'a skills directory', path: skills, file: join(skills, 'helper.md') },
  ]
}

/** An agent whose instructions show in every request that it makes. */
export function agentFile(name: string, instructions: string): string {
  const head = [`name: ${name}`, `description: Does ${name}.`, `triggers: [${name}]`, 'tools: [read_file, exec]']
  return `---\n${head.join('\n')}\n---\n\n${instructions}\n`
}

/** Repositories of every kind that git keeps in a folder, with what git runs in each. */
function layOutRepositories(folder: string): Place[] {
  const git = (where: string, ...args: string[]) =>
    execFileSync('git', ['-C', join(folder, where), ...args], {
      env: { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', ...author },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  // Commands in the sandbox do not see the owner's own settings.
  const name = (where: string) => {
    git(where, 'config', 'user.name', 'Owner')
    git(where, 'config', 'user.email', 'owner@localhost')
  }
  const repository = (where: string) => {
    mkdirSync(join(folder, where), { recursive: true })
    git(where, 'init', '-q', '-b', 'main')
    name(where)
    writeFileSync(join(folder, where, 'file.txt'), 'one\n')
    git(where, 'add', 'file.txt')
    git(where, 'commit', '-q', '-m', 'first')
  }
  repository('hooked')
  write(join(folder, 'hooked/.husky/README'), 'hooks of the project\n')
  git('hooked', 'config', 'core.hooksPath', '.husky')
  repository('nested')
  write(join(folder, 'nested/shared.gitconfig'), '[alias]\n\tst = status\n')
  git('nested', 'config', 'include.path', '../shared.gitconfig')
  git('nested', 'config', 'extensions.worktreeConfig', 'true')
  git('nested', 'worktree', 'add', '-q', '../tree', '-b', 'tree')
  repository('library')
  repository('.')
  git('.', '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', './library', 'module')
  name('module')
  git('.', 'commit', '-q', '-m', 'second')
  const at = (name: string, path: string, file = path): Place => ({
    name,
    path: join(folder, path),
    file: join(folder, file),
  })
  const same = (name: string, path: string): Place => ({ ...at(name, path), onlyIdentity: true })
  return [
    at('.git/config', '.git/config'),
    at('.git/hooks', '.git/hooks', '.git/hooks/pre-commit'),
    same('.git itself', '.git'),
    at("a nested repository's config", 'nested/.git/config'),
    at("a nested repository's hooks", 'nested/.git/hooks', 'nested/.git/hooks/post-checkout'),
    at('the .git file of a worktree', 'tree/.git'),
    at('commondir of a worktree', 'nested/.git/worktrees/tree/commondir'),
    at('the .git file of a submodule', 'module/.git'),
    at("a submodule's config", '.git/modules/module/config'),
    at("a submodule's hooks", '.git/modules/module/hooks', '.git/modules/module/hooks/pre-commit'),
    at('a core.hooksPath directory', 'hooked/.husky', 'hooked/.husky/pre-commit'),
    at('a file that git config includes', 'nested/shared.gitconfig'),
  ]
}

function gitFilesIn(folder: string): string[] {
  const directories = ['.git', 'nested/.git', 'hooked/.git', '.git/modules/module']
  return [
    'nested/.git/worktrees/tree/HEAD',
    ...directories.flatMap((at) => [`${at}/HEAD`, `${at}/objects`, `${at}/refs`]),
  ].map((path) => join(folder, path))
}

const author = {
  ...{ GIT_AUTHOR_NAME: 'Owner', GIT_AUTHOR_EMAIL: 'owner@localhost' },
  ...{ GIT_COMMITTER_NAME: 'Owner', GIT_COMMITTER_EMAIL: 'owner@localhost' },
}

/** Links that the owner has made to each place, to its directory, and to a link. */
function ownerLinks(folder: string, places: readonly Place[]): void {
  for (const [at, { file }] of places.entries()) {
    const links = join(folder, 'links')
    symlinkSync(file, join(links, `soft-${at}`))
    symlinkSync(dirname(file), join(links, `directory-${at}`))
    symlinkSync(`soft-${at}`, join(links, `chain-${at}`))
  }
}

/** The program inside the folder: as a dependency where it is an installed package, else as a checkout. */
function copyProgram(program: Program, folder: string): Program {
  const modules = join(folder, 'node_modules')
  const to = program.isInstalled ? join(modules, 'heddle') : join(folder, 'vendor/heddle')
  const parts = program.isInstalled ? readdirSync(program.root) : ['package.json', 'agents', 'bin', 'src']
  for (const part of parts) cpSync(join(program.root, part), join(to, part), { recursive: true })
  const manifest = JSON.parse(readFileSync(join(program.root, 'package.json'), 'utf8'))
  if (!program.isInstalled) symlinkSync(program.modules, join(to, 'node_modules'))
  else
    for (const name of Object.keys(manifest.dependencies)) {
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(join(program.modules, name), join(modules, name))
    }
  chmodSync(join(to, 'bin/heddle'), 0o755)
  return { ...program, root: to, file: join(to, 'bin/heddle') }
}

/** What a heddle that has started made in its places: compiled code and the socket. */
export function placesMade({ home, temporary, runtime }: Paths, socket: string): Place[] {
  const isCache = (path: string) => readdirSync(path).some((name) => /^v\d+\.\d+\.\d+-/.test(name))
  const directories = [temporary, runtime, home].flatMap((parent) =>
    readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(parent, entry.name)),
  )
  const caches = directories
    .filter(isCache)
    .map((path): Place => ({ name: 'compiled code', path, file: aFileIn(path), isCache: true }))
  const database: Place = {
    name: 'the database',
    path: join(home, 'heddle.db'),
    file: join(home, 'heddle.db'),
    onlyIdentity: true,
  }
  return [...caches, { name: 'the socket', path: socket, file: socket }, database]
}

function aFileIn(path: string): string {
  const found = readdirSync(path, { recursive: true, withFileTypes: true }).find((entry) => entry.isFile())
  return found ? join(found.parentPath, found.name) : join(path, 'code')
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function newSecret(): string {
  return `secret-${randomBytes(9).toString('hex')}`
}
