import { spawnSync } from 'node:child_process'
import { cpSync, globSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { buildWeb } from './web.ts'

// Builds the package into dist/, from nothing: a file that src no longer has must not live on in the package.
const root = join(import.meta.dirname, '..')
const from = join(root, 'src')
const to = join(root, 'dist')

/** What is started or imported by its path. */
const entries = ['index', 'testing', 'cli/main', 'tools/files/file-thread']

/** Commands of the owner, who changes settings and agents: they load much besides the engine. */
const ownerCommands = ['agents', 'agents/*', 'daemon/open', 'git', 'models', 'models/*', 'set-up'].map(
  (name) => `cli/commands/${name}`,
)

/** The thread's program; what every command needs; what one needs that asks a daemon, or that opens the home; and what several commands need. */
const shared = {
  files: ['tools/files/file-thread.ts'],
  base: [
    'cli/main.ts',
    'cli/context.ts',
    'gateway/daemon-request.ts',
    ...sourcesIn(['{api,commands,domain,home}/**/*']),
  ],
  client: ['gateway/client.ts'],
  engine: ['app/app.ts'],
  pages: sourcesIn(['cli/commands/**/*']).filter((file) => !sourcesIn(ownerCommands).includes(file)),
  owner: sourcesIn(ownerCommands),
}

rmSync(to, { recursive: true, force: true })
declareTypes()
// The program may read at run time what is not TypeScript.
cpSync(from, to, { recursive: true, filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts') })
const programs = Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`]))
await bundle({ programs, directory: to, shared })
await buildWeb(join(to, 'web'))

function sourcesIn(names: string[]): string[] {
  return globSync(
    names.map((name) => `${name}.ts`),
    { cwd: from },
  )
}

/** Programs that use the package are checked against these. That our own are right is what `npm test` checks. */
function declareTypes(): void {
  const words = [join(root, 'node_modules/.bin/tsc'), '-p', 'tsconfig.build.json', '--noCheck']
  const compiler = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' })
  if (compiler.status !== 0) process.exit(1)
}
