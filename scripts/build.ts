import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { sharedParts } from './parts.ts'
import { buildWeb, keptPage } from './web.ts'

// Builds the package into dist/, from nothing: a file that src no longer has must not live on in the package.
const root = join(import.meta.dirname, '..')
const from = join(root, 'src')
const to = join(root, 'dist')

/** What is started or imported by its path. */
const entries = ['index', 'testing', 'cli/main', 'tools/files/file-thread']

rmSync(to, { recursive: true, force: true })
declareTypes()
// The program may read at run time what is not TypeScript.
cpSync(from, to, { recursive: true, filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts') })
const programs = Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`]))
await bundle({ programs, directory: to, shared: sharedParts })
const page = keptPage()
if (existsSync(page)) cpSync(page, join(to, 'web'), { recursive: true })
else await buildWeb(join(to, 'web'))

/** Programs that use the package are checked against these. That our own are right is what `npm test` checks. */
function declareTypes(): void {
  const words = [join(root, 'node_modules/.bin/tsc'), '-p', 'tsconfig.build.json', '--noCheck']
  const compiler = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' })
  if (compiler.status !== 0) process.exit(1)
}
