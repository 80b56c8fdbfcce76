import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Figure, figure } from './figures.ts'

const root = join(import.meta.dirname, '..')
const megabyte = 1_000_000
const block = 512

interface Manifest {
  name: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

/** What `npm install heddle` brings along: every package that is reached from our dependencies, as it lies on the disk. */
export function measureSize(): Figure {
  const found = new Map<string, number>()
  collect(root, found, true)
  const sizes = [...found.values()]
  const largest = [...found].toSorted((a, b) => b[1] - a[1]).slice(0, 3)
  const named = largest.map(
    ([path, bytes]) => `${path.replace(/^.*node_modules\//, '')} ${(bytes / megabyte).toFixed(1)}`,
  )
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0) / megabyte
  const detail = `${sizes.length} packages on the disk; the largest: ${named.join(', ')} MB`
  return figure('runtime dependencies', 'MB', { atMost: 70 }, [total], detail)
}

function collect(from: string, found: Map<string, number>, isRoot = false): void {
  const manifest: Manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = manifest
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
  for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...(isRoot ? [] : peers)]) {
    const path = packageNamed(name, from)
    // An optional one may be missing on this system.
    if (path === undefined || found.has(path)) continue
    found.set(path, bytesIn(path))
    collect(path, found)
  }
}

/** Where Node would find it: in the nearest node_modules, upwards. */
function packageNamed(name: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const path = join(at, 'node_modules', name)
    if (existsSync(join(path, 'package.json'))) return realpathSync(path)
    if (at === dirname(at)) return undefined
  }
}

/** Its own files; packages below it are counted when they are reached. */
function bytesIn(path: string): number {
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .reduce((sum, entry) => {
      const inner = join(path, entry.name)
      return sum + (entry.isDirectory() ? bytesIn(inner) : lstatSync(inner).blocks * block)
    }, 0)
}
