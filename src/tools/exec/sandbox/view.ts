import { delimiter } from 'node:path'
import { HeddleError } from '../../../domain/errors.ts'
import { isKernelPath } from '../../../domain/tools/kernel-folders.ts'
import type { ProtectedPlaces } from '../../../domain/tools/path-handle.ts'
import { isWithin } from '../../../domain/tools/within.ts'
import { isAmong, ownSources, type RealPlaces, realPlaces } from '../../guard/protected-places.ts'
import { host, type ProcessIdentity } from './host.ts'
import { inMountOrder, type Mount, parentsBetween } from './mounts.ts'
import { storeFolders, systemFolders } from './system-places.ts'
import { userPrograms } from './user-programs.ts'

/** Files that commands see, as real paths. */
export interface View {
  /** The session's folder: the only writable path that persists. */
  folder: string
  /** Mounted read-only at their own path. */
  readable: string[]
  /** Mounted read-only, by the path that commands see: the real path would reveal where they are. */
  placed: Record<string, string>
  /** Links by path. */
  links: Record<string, string>
  /** Hidden, read-only or fixed paths inside visible or writable ones. */
  mounts: Mount[]
  path: string
}

// Of /etc only what programs need to start, for the time zone and for CA certificates. No keys: a sandbox whose user is
// root can read files that only root may read.
const defaultFiles = [
  ...['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives', '/etc/localtime'],
  ...['/etc/timezone', '/etc/nsswitch.conf', '/etc/os-release', '/etc/mime.types', '/etc/protocols', '/etc/services'],
  ...['/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/pki/tls/certs', '/etc/pki/ca-trust/extracted'],
  ...['/etc/crypto-policies', '/etc/terminfo', '/etc/fonts', '/etc/hosts'],
]
const networkFiles = ['/etc/resolv.conf', '/etc/host.conf', '/etc/gai.conf']

/** Inputs of a view. */
interface ViewSettings {
  folder: string
  protect: ProtectedPlaces
  /** In addition to those of protected paths. */
  mounts?: readonly Mount[]
  /** Paths that another running command could turn into a link: nothing is mounted there. */
  unsure?: readonly string[]
  network: boolean
}

/** Everything that commands in a folder need to see, and nothing more. */
export async function viewOf(
  { folder: requestedFolder, protect, mounts = [], unsure = [], network }: ViewSettings,
  who: ProcessIdentity,
  env: NodeJS.ProcessEnv,
): Promise<View> {
  const folder = await host.realPath(requestedFolder)
  if (folder === undefined) throw unreachable(requestedFolder)
  if (folder === '/' || isKernelPath(folder)) throw notAFolderToWorkIn(folder)
  const places = await realPlaces(host, protect, folder)
  if (isAmong(places.hidden, folder)) throw notAFolderToWorkIn(folder)
  if (isAmong([...places.noCommands, ...places.readOnly], folder)) throw ownSources(folder)
  const [system, programs] = await Promise.all([systemParts(), userPrograms(env, folder, who)])
  const installed = [...system.readable, ...programs.readable]
  const files = await existing([...defaultFiles, ...(network ? networkFiles : [])])
  const readable = await readableBy([...installed, ...files], who)
  const sources = await readableBy(Object.values(programs.placed), who)
  const visible = [folder, ...readable]
  return {
    folder,
    readable,
    placed: Object.fromEntries(Object.entries(programs.placed).filter(([, source]) => sources.includes(source))),
    links: { ...system.links, ...programs.links },
    mounts: inMountOrder(
      [...mounts, ...(await mountsFor(places, folder, visible))].filter(({ path }) => !isAmong(unsure, path)),
    ),
    path: programs.path.join(delimiter),
  }
}

/** Mounts of visible protected paths and their parent directories. Links get no mounts: see `ExecGuard`. */
async function mountsFor({ hidden, readOnly }: RealPlaces, folder: string, visible: string[]): Promise<Mount[]> {
  const isSeen = (place: string) => visible.some((each) => isWithin(place, each))
  const mounts = [
    ...(await Promise.all(hidden.filter(isSeen).map(hiddenMount))),
    ...(await Promise.all(readOnly.filter((place) => isWithin(place, folder)).map(readOnlyMount))),
  ].filter((mount) => mount !== undefined)
  return [...mounts, ...mounts.flatMap(({ path }) => parentsBetween(folder, path))]
}

async function hiddenMount(path: string): Promise<Mount | undefined> {
  const kind = await host.kind(path)
  if (kind === 'directory') return { path, kind: 'empty-directory' }
  return kind === undefined || kind === 'link' ? undefined : { path, kind: 'unreadable-file' }
}

async function readOnlyMount(path: string): Promise<Mount | undefined> {
  const kind = await host.kind(path)
  return kind === undefined || kind === 'link' ? undefined : { path, kind: 'read-only' }
}

/** `/bin` and similar are links into /usr on most systems, directories on some. */
async function systemParts() {
  const links: Record<string, string> = {}
  const readable = ['/usr', ...(await existing(storeFolders))]
  for (const place of await existing(systemFolders)) {
    const real = (await host.realPath(place)) ?? place
    if (real === place) readable.push(place)
    else links[place] = real
  }
  return { readable, links }
}

async function readableBy(paths: string[], who: ProcessIdentity): Promise<string[]> {
  const unique = [...new Set(paths)]
  const found = await Promise.all(
    unique.map(async (path) => {
      const real = await host.realPath(path)
      // A path that the sandbox's user cannot open would keep bubblewrap from starting.
      return real !== undefined && (who.uid === process.getuid?.() || (await host.mayUse(real, who, 4)))
    }),
  )
  return unique.filter((_, at) => found[at])
}

async function existing(paths: string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => host.realPath(path)))
  return paths.filter((_, at) => found[at] !== undefined)
}

function unreachable(folder: string): HeddleError {
  const remedy = 'tell the user; nothing can be run until it is back'
  return new HeddleError('folder_missing', `the folder ${folder} of this session cannot be reached`, remedy)
}

function notAFolderToWorkIn(folder: string): HeddleError {
  const remedy = 'tell the user to start in a folder of their own, such as a project'
  return new HeddleError('forbidden', `no command runs in ${folder}: it is not a folder to work in`, remedy)
}
