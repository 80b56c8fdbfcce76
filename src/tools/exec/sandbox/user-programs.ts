import { homedir, userInfo } from 'node:os'
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path'
import { isKernelPath } from '../../../domain/tools/kernel-folders.ts'
import { isWithin } from '../../../domain/tools/within.ts'
import { packageRoot } from '../../../package-root.ts'
import { host, type ProcessIdentity } from './host.ts'
import { nodeOfShim } from './node-shims.ts'
import { storeFolders, systemFolders, systemPath } from './system-places.ts'

/** Programs of the user's PATH, as commands see them. */
interface UserPrograms {
  /** Mounted read-only at their own path. */
  readable: string[]
  /** Mounted read-only, by the path that commands see. */
  placed: Record<string, string>
  /** Links by their path. */
  links: Record<string, string>
  path: string[]
}

/** Path of this process's own Node if the user has none; it does not reveal where Heddle is installed. */
const ownNodePlace = '/.node'

/** Visible in every sandbox, so that nothing below them needs a bind of its own. */
const alwaysVisible = ['/usr', ...systemFolders, ...storeFolders]
const homes = ['/home', '/root', '/Users']

/** A directory of the PATH. */
interface Entry {
  entry: string
  real: string
  isPersonal: boolean
}

/** The first Node of the PATH. */
interface UserNode {
  /** PATH directory that it was found in. */
  entry: string
  /** Its real path. */
  program: string
  isShim: boolean
}

/**
 * PATH directories in order, each with its installation: all of /opt/go for /opt/go/bin. Of a home only the installation of
 * the first Node on the PATH. Nothing in the folder: a program that an agent wrote must not be found by name. Nothing of
 * Heddle's own package, which `npm run` and `npx` put first.
 */
export async function userPrograms(
  env: NodeJS.ProcessEnv,
  folder: string,
  who: ProcessIdentity,
): Promise<UserPrograms> {
  const isOwn = await ownTest()
  const entries = await entriesOf([...searchPath(env), ...systemPath], folder, isOwn)
  const node = await firstNode(entries, folder, who, isOwn)
  const readable: string[] = []
  const path: string[] = []
  for (const { entry, real, isPersonal } of entries) {
    if (entry === node?.entry && (isPersonal || node.isShim)) path.push(dirname(node.program))
    if (isPersonal) continue
    path.push(entry)
    readable.push(...visibleFor(entry, real, folder))
  }
  const installed = node ? await installationOf(node.program, folder) : await ownNode()
  // A link cannot be created in a bound directory.
  const isBound = (place: string) => [...alwaysVisible, ...readable].some((each) => isWithin(place, each))
  return {
    readable: [...readable, ...installed.readable.filter((each) => !isBound(each))],
    placed: installed.placed,
    links: Object.fromEntries(Object.entries(installed.links).filter(([place]) => !isBound(place))),
    path: [...new Set([...path, ...systemPath, ...installed.path])],
  }
}

/** PATH for commands without a sandbox: the user's, without Heddle's own package. */
export async function pathWithoutOwn(env: NodeJS.ProcessEnv): Promise<string> {
  const isOwn = await ownTest()
  const kept: string[] = []
  let hasNode = false
  for (const entry of (env['PATH'] ?? systemPath.join(delimiter)).split(delimiter)) {
    const real = await host.realPath(entry)
    if (real !== undefined && isOwn(real)) continue
    kept.push(entry)
    const node = await host.realPath(join(entry, 'node'))
    hasNode ||= node !== undefined && !isOwn(node) && (await host.isProgram(node))
  }
  return [...kept, ...(hasNode ? [] : [dirname(process.execPath)])].join(delimiter)
}

function searchPath(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter).filter(isAbsolute)
}

async function entriesOf(paths: string[], folder: string, isOwn: OwnTest): Promise<Entry[]> {
  const personal = personalPlaces()
  const entries: Entry[] = []
  for (const entry of new Set(paths)) {
    const real = await host.realPath(entry)
    if (real === undefined || real === '/' || isOwn(real)) continue
    if (isKernelPath(real)) continue
    if (isWithin(real, folder) || isWithin(folder, real)) continue
    entries.push({ entry, real, isPersonal: personal.some((place) => isWithin(real, place) || isWithin(place, real)) })
  }
  return entries
}

function visibleFor(entry: string, real: string, folder: string): string[] {
  if (alwaysVisible.some((place) => isWithin(real, place))) return []
  const whole = dirname(real)
  const isInstalled = ['bin', 'sbin'].includes(basename(real)) && dirname(whole) !== '/'
  return [isInstalled && !isShared(whole, folder) ? whole : real, ...(real === entry ? [] : [entry])]
}

async function firstNode(
  entries: Entry[],
  folder: string,
  who: ProcessIdentity,
  isOwn: OwnTest,
): Promise<UserNode | undefined> {
  for (const { entry, real, isPersonal } of entries) {
    // npm put a project's package on the PATH; the user did not install it.
    if (isPersonal && real.endsWith('/node_modules/.bin')) continue
    const found = await host.realPath(join(real, 'node'))
    if (found === undefined) continue
    const managed = await nodeOfShim(real, folder)
    const program = managed ?? found
    // Another name, or a shims directory, belongs to an unknown version manager.
    if (basename(program) !== 'node' || (managed === undefined && basename(real) === 'shims')) continue
    if (isOwn(program) || isWithin(program, folder) || !(await isUsable(program, who))) continue
    return { entry, program, isShim: managed !== undefined }
  }
  return undefined
}

async function isUsable(program: string, who: ProcessIdentity): Promise<boolean> {
  return (await host.isProgram(program)) && (who.uid === process.getuid?.() || (await host.mayUse(program, who, 5)))
}

/** Files of one Node installation: its directory if it holds nothing else, otherwise its parts. */
async function installationOf(program: string, folder: string): Promise<UserPrograms> {
  const whole = dirname(dirname(program))
  if (!isShared(whole, folder) && (await isOfOneVersion(whole)))
    return { readable: [whole], placed: {}, links: {}, path: [] }
  const { placed, links } = await partsOf(program, whole)
  return { readable: Object.values(placed), placed: {}, links, path: [] }
}

async function ownNode(): Promise<UserPrograms> {
  const { placed, links } = await partsOf(process.execPath, ownNodePlace)
  return { readable: [], placed, links, path: [join(ownNodePlace, 'bin')] }
}

/** Node, npm and corepack, placed below another directory. */
async function partsOf(program: string, place: string): Promise<Pick<UserPrograms, 'placed' | 'links'>> {
  const placed: [string, string][] = [[join(place, 'bin', 'node'), program]]
  const links: [string, string][] = []
  for (const [name, [packaged, script]] of Object.entries(scripts)) {
    if (basename(dirname(program)) !== 'bin') break
    const from = join(dirname(dirname(program)), 'lib', 'node_modules', packaged)
    if ((await host.realPath(join(from, script))) === undefined) continue
    placed.push([join(place, 'lib', 'node_modules', packaged), from])
    links.push([join(place, 'bin', name), join(place, 'lib', 'node_modules', packaged, script)])
  }
  return { placed: Object.fromEntries(placed), links: Object.fromEntries(links) }
}

const scripts = {
  npm: ['npm', 'bin/npm-cli.js'],
  npx: ['npm', 'bin/npx-cli.js'],
  corepack: ['corepack', 'dist/corepack.js'],
} as const

/** Whether a directory holds only one Node version; `~/.local` or `~/bin` hold other things too. */
async function isOfOneVersion(directory: string): Promise<boolean> {
  const names = [directory, dirname(directory)].map((path) => basename(path))
  if (!names.some((name) => /(?<!\d)\d+\.\d+\.\d+/.test(name))) return false
  return (await host.realPath(join(directory, 'include', 'node'))) !== undefined
}

function isShared(directory: string, folder: string): boolean {
  return [folder, ...personalPlaces()].some((place) => isWithin(place, directory))
}

function personalPlaces(): string[] {
  return [...homes, homedir(), ...accountHome()]
}

/** Whether a real path belongs to Heddle's own package. */
type OwnTest = (path: string) => boolean

/** Covers the package's directory, and the outermost `node_modules` around it or the one in it. */
async function ownTest(): Promise<OwnTest> {
  const around = /^.*?\/node_modules(?=\/)/.exec(packageRoot)?.[0]
  const own = [packageRoot, around ?? join(packageRoot, 'node_modules')]
  const found = await Promise.all(own.map((path) => host.realPath(path)))
  const places = found.filter((path) => path !== undefined)
  return (path) => places.some((place) => isWithin(path, place))
}

/** Empty for a user without a passwd entry, as in many containers. */
function accountHome(): string[] {
  try {
    return [userInfo().homedir]
  } catch {
    return []
  }
}
