import { constants } from 'node:fs'
import {
  access,
  chmod,
  copyFile,
  cp,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { kindOf } from '../../files/path-refusals.ts'

const maxTextBytes = 64 * 1024

/** User and group of a process. Supplementary groups do not count. */
export interface ProcessIdentity {
  uid: number
  gid: number
}

/** The sandbox's access to files outside the session's folder; nothing of it reaches a model. */
export const host = {
  /** Real path; undefined if it does not exist or is not accessible. */
  realPath: (path: string) => realpath(path).catch(() => undefined),
  /** The same; rejects. */
  realpath: (path: string) => realpath(path),
  /** Kind of the entry at a path, links not followed; undefined if there is none. */
  kind: async (path: string) => {
    const found = await lstat(path).catch(() => undefined)
    return found && kindOf(found)
  },
  owner: async (path: string): Promise<ProcessIdentity> => {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  },
  /** Whether a user can reach a real path with these permission bits (4 read, 2 write, 1 enter). */
  async mayUse(path: string, who: ProcessIdentity, bits: number): Promise<boolean> {
    for (let place = dirname(path); ; place = dirname(place)) {
      if (!(await allows(place, who, 1))) return false
      if (place === '/') return allows(path, who, bits)
    }
  },
  /** Text of a system file; undefined if there is none. */
  text: (path: string) => readFile(path, 'utf8').catch(() => undefined),
  /** Writes a private file of the runtime, and creates its directory. */
  async writeText(path: string, text: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, text, { mode: 0o600 })
  },
  remove: (path: string) => rm(path, { force: true }),
  isAlive(pid: number): boolean {
    try {
      return process.kill(pid, 0)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
  },
  /** Beginning of a file that an agent may have written: never blocks on a pipe, and reads a bounded size. */
  async beginning(path: string): Promise<string | undefined> {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
    if (!file) return undefined
    try {
      if (!(await file.stat()).isFile()) return undefined
      const { buffer, bytesRead } = await file.read(Buffer.alloc(maxTextBytes), 0, maxTextBytes, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } catch {
      return undefined
    } finally {
      await file.close()
    }
  },
  /** Whether a real path is an executable file. */
  isProgram: async (path: string): Promise<boolean> => {
    const found = await stat(path).catch(() => undefined)
    return found?.isFile() === true && (found.mode & 0o111) !== 0
  },
  /** Whether this process may execute a file or enter a directory; false on a noexec mount. */
  mayRun: (path: string) =>
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    ),
  /** Whether a path is a directory, not a link, that only this user can write to. */
  isOurs: async (path: string): Promise<boolean> => {
    const found = await lstat(path).catch(() => undefined)
    return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
  },
  /** Changes with the file's content or inode; stays when the file is renamed. */
  identity: async (path: string): Promise<string> => {
    const { dev, ino, size, mtimeMs } = await stat(path)
    return `${dev} ${ino} ${size} ${mtimeMs}`
  },
  /** Creates a directory with links to or copies of the sources; rejects if another user owns its name. */
  async mirror(sources: Record<string, string>, directory: string): Promise<void> {
    const temporary = await mkdtemp(`${directory}-`)
    try {
      for (const [place, source] of Object.entries(sources)) {
        const to = join(temporary, place)
        await mkdir(dirname(to), { recursive: true })
        // Commands may run as another user, so the umask must not apply.
        for (let above = dirname(to); above !== dirname(temporary); above = dirname(above)) await chmod(above, 0o755)
        await mirrorOne(source, to)
      }
      await rename(temporary, directory).catch(async (error) => {
        const found = await Promise.all(Object.keys(sources).map((place) => host.mayRun(join(directory, place))))
        // Another process was faster.
        if (found.every(Boolean)) return
        if (!(await host.isOurs(directory))) throw error
        await rm(directory, { recursive: true, force: true })
        await rename(temporary, directory)
      })
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  },
  link: (path: string) => readlink(path).catch(() => undefined),
  names: (path: string) => readdir(path).catch(() => []),
  /** Calls `use` with a temporary folder, one file inside and one beside it, and removes them afterwards. */
  async inScratch<T>(
    files: { inside: string; beside: string },
    use: (place: ScratchDirectory) => Promise<T>,
  ): Promise<T> {
    const place = await realpath(await mkdtemp(join(tmpdir(), 'heddle-exec-')))
    try {
      const scratch = { folder: join(place, 'folder'), inside: 'inside', beside: join(place, 'beside') }
      await mkdir(scratch.folder)
      await writeFile(join(scratch.folder, scratch.inside), files.inside)
      await writeFile(scratch.beside, files.beside)
      return await use(scratch)
    } finally {
      await rm(place, { recursive: true, force: true })
    }
  },
}

interface ScratchDirectory {
  folder: string
  inside: string
  beside: string
}

async function mirrorOne(source: string, to: string): Promise<void> {
  if ((await stat(source)).isDirectory()) return cp(source, to, { recursive: true, verbatimSymlinks: true })
  // Another disk, or a file of another user.
  await link(source, to).catch(() => copyFile(source, to, constants.COPYFILE_FICLONE))
}

async function allows(path: string, { uid, gid }: ProcessIdentity, bits: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return false
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0
  return ((found.mode >> shift) & bits) === bits
}
