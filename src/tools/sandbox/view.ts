import { delimiter } from 'node:path'
import { HeddleError } from '../../domain/errors.ts'
import { isWithin } from '../inside.ts'
import { host, type Identity } from './host.ts'
import { kernelFolders, storeFolders, systemFolders } from './system-places.ts'
import { userPrograms } from './user-programs.ts'

/** What commands see of the machine's files, as real paths. */
export interface View {
  /** The session's folder: the only place that can be written and lasts. */
  folder: string
  /** Read-only, at the place where they are. */
  readable: string[]
  /** Read-only, by the path at which commands find them: their own would tell where they are. */
  placed: Record<string, string>
  /** Links by their place. */
  links: Record<string, string>
  /** Empty for commands, although something around them is visible. */
  hidden: string[]
  path: string
}

// Of /etc only what programs need to start, to know the time and to trust the usual certificates. No keys: to a sandbox
// whose user is root, files that only root may read are readable.
const usualFiles = [
  ...['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives', '/etc/localtime'],
  ...['/etc/timezone', '/etc/nsswitch.conf', '/etc/os-release', '/etc/mime.types', '/etc/protocols', '/etc/services'],
  ...['/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/pki/tls/certs', '/etc/pki/ca-trust/extracted'],
  ...['/etc/crypto-policies', '/etc/terminfo', '/etc/fonts', '/etc/hosts'],
]
const networkFiles = ['/etc/resolv.conf', '/etc/host.conf', '/etc/gai.conf']

/** Everything that commands in a folder need to see, and nothing more. */
export async function viewOf(
  { folder: given, without, network }: { folder: string; without: readonly string[]; network: boolean },
  who: Identity,
  env: NodeJS.ProcessEnv,
): Promise<View> {
  const folder = await host.realPath(given)
  if (folder === undefined) throw unreachable(given)
  if (folder === '/' || kernelFolders.some((place) => isWithin(folder, place))) throw notAFolderToWorkIn(folder)
  const hidden = await realPaths(without)
  if (hidden.some((place) => isWithin(folder, place))) throw notAFolderToWorkIn(folder)
  const [system, programs] = await Promise.all([systemParts(), userPrograms(env, folder, who)])
  const wanted = [...system.readable, ...programs.readable]
  const files = await existing([...usualFiles, ...(network ? networkFiles : [])])
  const readable = await kept([...wanted, ...files], who)
  const sources = await kept(Object.values(programs.placed), who)
  const visible = [folder, ...readable]
  return {
    folder,
    readable,
    placed: Object.fromEntries(Object.entries(programs.placed).filter(([, source]) => sources.includes(source))),
    links: { ...system.links, ...programs.links },
    hidden: hidden.filter((place) => visible.some((each) => isWithin(place, each))),
    path: programs.path.join(delimiter),
  }
}

/** `/bin` and its like are links into /usr on most systems, and folders on some. */
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

async function kept(paths: string[], who: Identity): Promise<string[]> {
  const unique = [...new Set(paths)]
  const found = await Promise.all(
    unique.map(async (path) => {
      const real = await host.realPath(path)
      // What the user of the sandbox cannot open would keep the whole sandbox from starting.
      return real !== undefined && (who.uid === process.getuid?.() || (await host.mayUse(real, who, 4)))
    }),
  )
  return unique.filter((_, at) => found[at])
}

async function existing(paths: string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => host.realPath(path)))
  return paths.filter((_, at) => found[at] !== undefined)
}

async function realPaths(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => host.realPath(path)))
  return found.filter((path) => path !== undefined)
}

function unreachable(folder: string): HeddleError {
  const remedy = 'tell the user; nothing can be run until it is back'
  return new HeddleError('folder_missing', `the folder ${folder} of this session cannot be reached`, remedy)
}

function notAFolderToWorkIn(folder: string): HeddleError {
  const remedy = 'tell the user to start in a folder of their own, such as a project'
  return new HeddleError('forbidden', `no command runs in ${folder}: it is not a folder to work in`, remedy)
}
