import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Builds and packs the package, installs it into `project/` in a directory, and returns where it is then. */
export function installPackage(directory: string): string {
  const project = join(directory, 'project')
  const installed = join(project, 'node_modules/heddle')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  pack(directory)
  unpack(join(directory, `heddle-${manifest.version}.tgz`), installed)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
  return installed
}

/** Packs a copy, so that neither a second test run nor the developer's own dist is disturbed. */
function pack(directory: string): void {
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
  ]
  for (const name of names) cpSync(join(root, name), join(copy, name), { recursive: true })
  // Not as a link: npm packs what lies there.
  const copied = spawnSync('cp', ['-al', join(root, 'node_modules'), join(copy, 'node_modules')])
  if (copied.status !== 0) cpSync(join(root, 'node_modules'), join(copy, 'node_modules'), { recursive: true })
  const npm = spawnSync('npm', ['pack', '--pack-destination', directory], { cwd: copy, encoding: 'utf8' })
  if (npm.status !== 0) throw new Error(`npm pack failed:\n${npm.stdout}${npm.stderr}`)
}

/** Does what npm does with a tarball, without asking the registry for dependencies that are here already. */
function unpack(tarball: string, installed: string): void {
  mkdirSync(installed, { recursive: true })
  const tar = spawnSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'], { encoding: 'utf8' })
  if (tar.status !== 0) throw new Error(`tar failed:\n${tar.stderr}`)
}
