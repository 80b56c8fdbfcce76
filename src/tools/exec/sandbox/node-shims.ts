import { basename, dirname, join } from 'node:path'
import { host } from './host.ts'

// Version directories relative to the shims directory: nodenv, asdf, mise, proto; Volta.
const besideShims = ['../versions', '../installs/nodejs', '../installs/node', '../tools/node']
const besideVolta = ['../tools/image/node']

/**
 * The Node that a version manager's shim stands for; undefined if the directory holds no shims. A shim needs the manager's
 * own files, which commands do not see. Nothing is executed: an agent can change the folder's version files, so they only
 * select among the installed versions.
 */
export async function nodeOfShim(shims: string, folder: string): Promise<string | undefined> {
  for (const beside of basename(shims) === 'shims' ? besideShims : besideVolta) {
    const versions = join(shims, beside)
    const installed = (await host.names(versions)).filter((name) => /^v?\d/.test(name)).sort(newestFirst)
    if (installed.length === 0) continue
    const wanted = [...(await wantedIn(folder)), ...(await wantedByDefault(dirname(shims)))]
    const chosen = wanted.map((version) => installed.find((name) => fits(name, version))).find((name) => name)
    const program = await host.realPath(join(versions, chosen ?? installed[0] ?? '', 'bin', 'node'))
    if (program !== undefined) return program
  }
  return undefined
}

/** Versions that a folder and its parents name, nearest first. */
async function wantedIn(folder: string): Promise<string[]> {
  const wanted: string[] = []
  for (let place = folder; ; place = dirname(place)) {
    for (const [name, version] of pins) wanted.push(...version((await host.beginning(join(place, name))) ?? ''))
    if (place === dirname(place)) return wanted
  }
}

/** The user's global default. */
async function wantedByDefault(manager: string): Promise<string[]> {
  const read = async (path: string) => (await host.beginning(path)) ?? ''
  const home = dirname(manager)
  return [
    ...firstVersion(await read(join(manager, 'version'))),
    ...platform(await read(join(manager, 'tools/user/platform.json'))),
    ...inList(await read(join(home, '.tool-versions'))),
    // mise keeps its versions in ~/.local/share/mise.
    ...inList(await read(join(dirname(dirname(home)), '.config/mise/config.toml'))),
    ...inList(await read(join(dirname(dirname(home)), '.tool-versions'))),
  ]
}

const firstVersion = (text: string) => /^\s*v?(\d[\d.]*)/.exec(text)?.slice(1) ?? []
const inList = (text: string) => /^\s*node(?:js)?[\s=]+["']?v?(\d[\d.]*)/m.exec(text)?.slice(1) ?? []
const volta = (text: string) => /"volta"\s*:\s*\{[^}]*"node"\s*:\s*"v?(\d[\d.]*)"/.exec(text)?.slice(1) ?? []
const platform = (text: string) => /"runtime"\s*:\s*"v?(\d[\d.]*)"/.exec(text)?.slice(1) ?? []

const pins: [string, (text: string) => string[]][] = [
  ['.node-version', firstVersion],
  ['.nvmrc', firstVersion],
  ['.tool-versions', inList],
  ['mise.toml', inList],
  ['.mise.toml', inList],
  ['package.json', volta],
]

function fits(name: string, version: string): boolean {
  return `${name.replace(/^v/, '')}.`.startsWith(`${version.replace(/\.$/, '')}.`)
}

function newestFirst(a: string, b: string): number {
  return b.replace(/^v/, '').localeCompare(a.replace(/^v/, ''), 'en', { numeric: true })
}
