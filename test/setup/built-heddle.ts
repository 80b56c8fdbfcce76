import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../../scripts/bundle.ts'
import { sharedParts } from '../../scripts/parts.ts'
import { buildOnce } from './build-once.ts'

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/heddle-built')
const entries = ['cli/main', 'tools/files/file-thread']
const dayMs = 86_400_000

/** For the environment of a process: code that was compiled for one home is used by the others. */
export const cachedCode = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }

/**
 * Heddle of this checkout in few files, below a launcher as in the package: its start takes half the time of that from
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
 * are those few files.
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
  const builders = ['scripts/{bundle,parts}.ts', 'test/setup/bu*.ts']
  const files = globSync(['src/**', 'agents/**', 'bin/*', 'package*.json', ...builders], { cwd: root }).sort()
  const hash = createHash('sha256')
  for (const file of files) {
    const { size, mtimeMs } = statSync(join(root, file))
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

async function buildIn(directory: string): Promise<void> {
  for (const name of ['bin', 'agents', 'package.json'])
    cpSync(join(root, name), join(directory, name), { recursive: true })
  const dist = join(directory, 'dist')
  cpSync(join(root, 'src/store/sqlite/schema.sql'), join(dist, 'store/sqlite/schema.sql'))
  const programs = Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`]))
  await bundle({ programs, directory: dist, shared: sharedParts })
}

/** Not those of today: another run may use one. */
function removeOld(): void {
  for (const name of globSync('*', { cwd: cache })) {
    const path = join(cache, name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - made > dayMs) rmSync(path, { recursive: true, force: true })
  }
}
