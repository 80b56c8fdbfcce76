import { basename, dirname, join } from 'node:path'
import { host } from './host.ts'

// Where version managers keep their versions, from the directory of their shims: nodenv, asdf, mise, proto; Volta.
const besideShims = ['../versions', '../installs/nodejs', '../installs/node', '../tools/node']
const besideVolta = ['../tools/image/node']

/**
 * The Node that a version manager's shim stands for; undefined where the directory holds no shims. A shim finds its
 * versions by the manager's own files, which commands do not see. Nothing is run to find out: what the folder says about
 * versions is an agent's to change, so it only selects among the versions that are installed.
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

/** The versions that a folder and those around it name, the nearest first. */
async function wantedIn(folder: string): Promise<string[]> {
  const wanted: string[] = []
  for (let place = folder; ; place = dirname(place)) {
    for (const [name, version] of pins) wanted.push(...version((await host.beginning(join(place, name))) ?? ''))
    if (place === dirname(place)) return wanted
  }
}

/** The user's choice for where no folder names one. */
async function wantedByDefault(manager: string): Promise<string[]> {
  const read = async (path: string) => (await host.beginning(path)) ?? ''
  const home = dirname(manager)
  return [
    ...bare(await read(join(manager, 'version'))),
    ...platform(await read(join(manager, 'tools/user/platform.json'))),
    ...listed(await read(join(home, '.tool-versions'))),
    // mise keeps its versions in ~/.local/share/mise.
    ...listed(await read(join(dirname(dirname(home)), '.config/mise/config.toml'))),
    ...listed(await read(join(dirname(dirname(home)), '.tool-versions'))),
  ]
}

const bare = (text: string) => /^\s*v?(\d[\d.]*)/.exec(text)?.slice(1) ?? []
const listed = (text: string) => /^\s*node(?:js)?[\s=]+["']?v?(\d[\d.]*)/m.exec(text)?.slice(1) ?? []
const volta = (text: string) => /"volta"\s*:\s*\{[^}]*"node"\s*:\s*"v?(\d[\d.]*)"/.exec(text)?.slice(1) ?? []
const platform = (text: string) => /"runtime"\s*:\s*"v?(\d[\d.]*)"/.exec(text)?.slice(1) ?? []

const pins: [string, (text: string) => string[]][] = [
  ['.node-version', bare],
  ['.nvmrc', bare],
  ['.tool-versions', listed],
  ['mise.toml', listed],
  ['.mise.toml', listed],
  ['package.json', volta],
]

function fits(name: string, version: string): boolean {
  return `${name.replace(/^v/, '')}.`.startsWith(`${version.replace(/\.$/, '')}.`)
}

function newestFirst(a: string, b: string): number {
  return b.replace(/^v/, '').localeCompare(a.replace(/^v/, ''), 'en', { numeric: true })
}
