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
import { kindOf } from '../path-refusals.ts'

const mostOfText = 64 * 1024

/** Who a process is for the files it touches. Groups besides its own one do not count. */
export interface Identity {
  uid: number
  gid: number
}

/** What the sandbox asks of the machine about files that are not the session's; nothing of it reaches a model. */
export const host = {
  /** Where a path really is; undefined when it is not there or must not be seen. */
  realPath: (path: string) => realpath(path).catch(() => undefined),
  /** The same; rejects. */
  realpath: (path: string) => realpath(path),
  /** What lies at a path, a link not followed; undefined when nothing does. */
  kind: async (path: string) => {
    const found = await lstat(path).catch(() => undefined)
    return found && kindOf(found)
  },
  owner: async (path: string): Promise<Identity> => {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  },
  /** Whether someone gets to a real path and may do there what these bits say (4 read, 2 write, 1 enter). */
  async mayUse(path: string, who: Identity, bits: number): Promise<boolean> {
    for (let place = dirname(path); ; place = dirname(place)) {
      if (!(await allows(place, who, 1))) return false
      if (place === '/') return allows(path, who, bits)
    }
  },
  /** The text of a file of the system; undefined when there is none. */
  text: (path: string) => readFile(path, 'utf8').catch(() => undefined),
  /** Writes a file of the runtime's own, private to the user, with the directory that it lies in. */
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
  /** The beginning of a file that an agent may have written: it must not be a pipe to wait for, nor be without end. */
  async beginning(path: string): Promise<string | undefined> {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
    if (!file) return undefined
    try {
      if (!(await file.stat()).isFile()) return undefined
      const { buffer, bytesRead } = await file.read(Buffer.alloc(mostOfText), 0, mostOfText, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } catch {
      return undefined
    } finally {
      await file.close()
    }
  },
  /** Whether a real path is a file that someone may run. */
  isProgram: async (path: string): Promise<boolean> => {
    const found = await stat(path).catch(() => undefined)
    return found?.isFile() === true && (found.mode & 0o111) !== 0
  },
  /** Whether this process may run a file or enter a directory; false where the disk is mounted for no programs. */
  mayRun: (path: string) =>
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    ),
  /** Whether a path is a directory, and no link, that nobody else can write to. */
  isOurs: async (path: string): Promise<boolean> => {
    const found = await lstat(path).catch(() => undefined)
    return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
  },
  /** Differs as soon as there is another file; stays when it gets another name. */
  identity: async (path: string): Promise<string> => {
    const { dev, ino, size, mtimeMs } = await stat(path)
    return `${dev} ${ino} ${size} ${mtimeMs}`
  },
  /** Makes a directory that holds files and directories by other names; rejects where another user has taken its name. */
  async mirror(sources: Record<string, string>, directory: string): Promise<void> {
    const made = await mkdtemp(`${directory}-`)
    try {
      for (const [place, source] of Object.entries(sources)) {
        const to = join(made, place)
        await mkdir(dirname(to), { recursive: true })
        // Commands may run as another user, whatever the umask of this one is.
        for (let above = dirname(to); above !== dirname(made); above = dirname(above)) await chmod(above, 0o755)
        await mirrorOne(source, to)
      }
      await rename(made, directory).catch(async (error) => {
        const found = await Promise.all(Object.keys(sources).map((place) => host.mayRun(join(directory, place))))
        // Another process was faster.
        if (found.every(Boolean)) return
        if (!(await host.isOurs(directory))) throw error
        await rm(directory, { recursive: true, force: true })
        await rename(made, directory)
      })
    } finally {
      await rm(made, { recursive: true, force: true })
    }
  },
  link: (path: string) => readlink(path).catch(() => undefined),
  names: (path: string) => readdir(path).catch(() => []),
  /** Runs something beside a folder of its own, with a file in it and a file beside it, and removes all of it. */
  async inScratch<T>(files: { inside: string; beside: string }, use: (place: Scratch) => Promise<T>): Promise<T> {
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

export interface Scratch {
  folder: string
  inside: string
  beside: string
}

async function mirrorOne(source: string, to: string): Promise<void> {
  if ((await stat(source)).isDirectory()) return cp(source, to, { recursive: true, verbatimSymlinks: true })
  // Another disk, or a file of another user.
  await link(source, to).catch(() => copyFile(source, to, constants.COPYFILE_FICLONE))
}

async function allows(path: string, { uid, gid }: Identity, bits: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return false
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0
  return ((found.mode >> shift) & bits) === bits
}
