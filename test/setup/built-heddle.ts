import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { buildOnce } from './build-once.ts'
import { bundleWhole } from './bundle.ts'

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/heddle-built')
const dayMs = 86_400_000

/** For the environment of a process: code that was compiled for one home is used by the others. */
export const cachedCode = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }

/**
 * Heddle of this checkout in one file, below a launcher as in the package: its start takes half the time of that from
 * hundreds of sources. Made anew when a source has changed.
 */
export async function builtHeddle(): Promise<string> {
  const place = join(cache, sourcesAsTheyAre())
  if (!existsSync(place)) removeOld()
  await buildOnce(place, (directory) => buildIn(directory))
  return join(place, 'bin/heddle')
}

/**
 * The launcher of a checkout, made in a directory: on an old Node it restarts on the checkout's own, and its sources
 * are the one file.
 */
export async function builtCheckout(directory: string): Promise<string> {
  const program = join(await builtHeddle(), '../../dist/cli/main.js')
  const checkout = join(directory, 'checkout')
  cpSync(join(root, 'bin'), join(checkout, 'bin'), { recursive: true })
  cpSync(join(root, 'package.json'), join(checkout, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  mkdirSync(join(checkout, 'src/cli'), { recursive: true })
  writeFileSync(join(checkout, 'src/cli/main.ts'), `export { main } from ${JSON.stringify(program)}\n`)
  return join(checkout, 'bin/heddle')
}

function sourcesAsTheyAre(): string {
  const files = globSync(['src/**', 'agents/**', 'bin/*', 'package*.json', 'scripts/bundle.ts', 'test/setup/bu*.ts'], {
    cwd: root,
  }).sort()
  const hash = createHash('sha256')
  for (const file of files) {
    const { size, mtimeMs } = statSync(join(root, file))
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

async function buildIn(directory: string): Promise<void> {
  const main = await bundleWhole('src/cli/main.ts', directory)
  cpSync(join(root, 'bin'), join(directory, 'bin'), { recursive: true })
  mkdirSync(join(directory, 'dist/cli'), { recursive: true })
  renameSync(main, join(directory, 'dist/cli/main.js'))
}

/** Not those of today: another run may use one. */
function removeOld(): void {
  for (const name of globSync('*', { cwd: cache })) {
    const path = join(cache, name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - made > dayMs) rmSync(path, { recursive: true, force: true })
  }
}
