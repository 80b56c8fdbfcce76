import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Builds and packs the package, installs it into `project/` in a directory, and returns where it is then. */
export function installPackage(directory: string): string {
  const project = join(directory, 'project')
  const installed = join(project, 'node_modules/heddle')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  pack(directory, Object.keys(manifest.dependencies))
  unpack(join(directory, `heddle-${manifest.version}.tgz`), installed)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
  return installed
}

/** Packs a copy, so that neither a second test run nor the developer's own dist is disturbed. */
function pack(directory: string, dependencies: string[]): void {
  const copy = join(directory, 'workshop')
  mkdirSync(copy)
  const names = [
    'package.json',
    'agents',
    'bin',
    'src',
    'web',
    'scripts',
    'tsconfig.json',
    'tsconfig.build.json',
    'LICENSE',
    'package-lock.json',
  ]
  for (const name of names) cpSync(join(root, name), join(copy, name), { recursive: true })
  linkModules(join(copy, 'node_modules'), dependencies)
  const npm = spawnSync('npm', ['pack', '--pack-destination', directory], { cwd: copy, encoding: 'utf8' })
  if (npm.status !== 0) throw new Error(`npm pack failed:\n${npm.stdout}${npm.stderr}`)
}

/** What the package is built with is linked: a copy of all of it takes longer than the build. npm packs no links. */
function linkModules(to: string, dependencies: string[]): void {
  const from = join(root, 'node_modules')
  const packed = new Set(dependencies.map((name) => name.split('/')[0]))
  mkdirSync(to)
  for (const name of readdirSync(from).filter((name) => name === '.bin' || !name.startsWith('.')))
    if (packed.has(name)) cpSync(join(from, name), join(to, name), { recursive: true })
    else symlinkSync(join(from, name), join(to, name))
  mkdirSync(join(to, '.cache'))
  symlinkSync(join(from, '.cache/heddle-web'), join(to, '.cache/heddle-web'))
}

/** Does what npm does with a tarball, without asking the registry for dependencies that are here already. */
function unpack(tarball: string, installed: string): void {
  mkdirSync(installed, { recursive: true })
  const tar = spawnSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'], { encoding: 'utf8' })
  if (tar.status !== 0) throw new Error(`tar failed:\n${tar.stderr}`)
}
