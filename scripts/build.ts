import { spawnSync } from 'node:child_process'
import { cpSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

// Builds the package into dist/, from nothing: a file that src no longer has must not live on in the package.
const root = join(import.meta.dirname, '..')
const from = join(root, 'src')
const to = join(root, 'dist')

rmSync(to, { recursive: true, force: true })
const compiler = spawnSync(process.execPath, [join(root, 'node_modules/.bin/tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})
if (compiler.status !== 0) process.exit(1)
// The compiler leaves behind what is not TypeScript, and the program may read it at run time.
cpSync(from, to, { recursive: true, filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts') })
