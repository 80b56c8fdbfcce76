import { HeddleError } from '../domain/errors.ts'
import type { FilePlace } from '../domain/path-handle.ts'
import { shownName } from './shown-name.ts'

/** Files that no agent writes, since something else acts on them later, with a person's rights. */
const guarded: { path: RegExp; why: string }[] = [
  {
    path: /\/head$/,
    why: 'git takes a directory with such a file for a repository, and runs what its configuration says',
  },
  { path: /\/\.git$/, why: 'it tells git where a repository is, and git runs the hooks there' },
  { path: /\.git\/(.*\/)?hooks\//, why: 'git runs what lies there' },
  { path: /\.git\/(.*\/)?(config|config\.worktree|commondir)$/, why: 'git runs commands that stand there' },
]
const ours = { path: /\/\.heddle\//, why: 'it belongs to heddle' }

export function refuseGuarded({ folder, names }: Pick<FilePlace, 'folder' | 'names'>): void {
  const below = asAnyDiskReadsIt(`/${names.join('/')}`)
  const whole = asAnyDiskReadsIt(folder) + below
  const rule = ours.path.test(below) ? ours : guarded.find(({ path }) => path.test(whole))
  if (rule) throw notForAgents(names.join('/'), rule.why)
}

export function notForAgents(shown: string, why: string): HeddleError {
  const message = `${shownName(shown)} is not written by agents: ${why}`
  return new HeddleError('forbidden', message, 'tell the user what should stand there, and let them decide')
}

/** Some disks take capital letters for small ones, and see no difference where a letter is invisible. */
function asAnyDiskReadsIt(path: string): string {
  return path
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
}
