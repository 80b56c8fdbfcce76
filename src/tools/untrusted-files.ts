import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { Misuse } from '../domain/errors.ts'
import type { PathAddress } from '../domain/path-handle.ts'
import { asideName } from './exec-guard.ts'
import { inDirectory } from './git-places.ts'
import { directRoot } from './handle.ts'
import { openInside, type Root } from './inside.ts'

const maxBytes = 1_000_000
const packages = 'node_modules'

/** What was moved aside in one directory, since git or Heddle would have run it. */
export interface Untrusted {
  /** From the folder on. */
  directory: string
  files: UntrustedFile[]
  /** Of everything in it: a yes counts for what was seen. */
  hash: string
}

export interface UntrustedFile {
  /** Where it lies now, from the folder on. */
  path: string
  isExecutable: boolean
  /** A link's target stands for its content. */
  content: string
}

/** Everything in a folder that was moved aside. */
export async function untrustedIn(folder: PathAddress): Promise<Untrusted[]> {
  const root = await directRoot(folder)
  const found: Untrusted[] = []
  const queue = [root.path]
  // Grows while it is gone through.
  for (const path of queue) {
    await inDirectory(root, path, async (_, base) => {
      const aside: string[] = []
      for await (const entry of root.disk.entries(base)) {
        if (asideName.test(entry.name)) aside.push(entry.name)
        else if (entry.isDirectory() && entry.name !== packages) queue.push(join(path, entry.name))
      }
      if (aside.length === 0) return
      const files: UntrustedFile[] = []
      for (const name of aside.sort()) await collect(root, join(path, name), files)
      const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex')
      found.push({ directory: path.slice(root.path.length + 1) || '.', files, hash })
    })
  }
  return found
}

/** Gives what was moved aside in a directory its own names again. Answers those, from the folder on. */
export async function trustFiles(folder: PathAddress, directory: string, hash: string): Promise<string[]> {
  const root = await directRoot(folder)
  const known = (await untrustedIn(folder)).find((each) => each.directory === directory)
  if (!known) throw new Misuse(`nothing was moved aside in ${directory}`, 'heddle git lists what was', 'not_found')
  if (!known.hash.startsWith(hash) || hash.length < 8)
    throw new Misuse('it is not what you were shown any more', 'look at it again: heddle git', 'approval_changed')
  const trusted: string[] = []
  await inDirectory(root, join(root.path, directory), async (opened, base) => {
    for (const aside of new Set(
      known.files.map(({ path }) => path.slice(directory === '.' ? 0 : directory.length + 1).split('/')[0] ?? ''),
    )) {
      const name = aside.replace(asideName, '')
      if (await root.disk.find(join(base, name)))
        throw new Misuse(`there is a ${name} in ${directory} already`, 'remove one of the two by hand', 'taken')
      await root.disk.rename(join(base, aside), join(base, name))
      trusted.push(join(directory, name))
    }
    await opened.file.sync()
  })
  return trusted
}

async function collect(root: Root, path: string, into: UntrustedFile[]): Promise<void> {
  const shown = path.slice(root.path.length + 1)
  const stats = await root.disk.find(path)
  if (!stats) return
  if (stats.isSymbolicLink())
    return void into.push({ path: shown, isExecutable: false, content: `→ ${await root.disk.readlink(path)}` })
  if (stats.isDirectory()) {
    const names: string[] = []
    for await (const { name } of root.disk.entries(path)) names.push(name)
    if (names.length === 0) into.push({ path: `${shown}/`, isExecutable: false, content: '' })
    for (const name of names.sort()) await collect(root, join(path, name), into)
    return
  }
  into.push({ path: shown, isExecutable: (stats.mode & 0o111) !== 0, content: await contentAt(root, path) })
}

async function contentAt(root: Root, path: string): Promise<string> {
  const opened = await openInside(root, path)
  if (!opened?.stats.isFile()) {
    await opened?.file.close()
    return ''
  }
  try {
    if (opened.stats.size > maxBytes)
      throw new Misuse(
        `${basename(dirname(path))}/${basename(path)} is too long to be shown`,
        'look at it yourself, and rename it by hand if it is right',
        'too_large',
      )
    const into = Buffer.alloc(opened.stats.size)
    return into.toString('utf8', 0, await opened.file.read(into, 0))
  } finally {
    await opened.file.close()
  }
}
