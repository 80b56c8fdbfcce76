import { HeddleError } from '../../domain/errors.ts'
import type { FileLocation } from '../../domain/tools/path-handle.ts'
import { shownName } from '../files/shown-name.ts'

/** Files that agents must not write, since other programs act on them later with the user's rights. */
const guardedPaths: { path: RegExp; why: string }[] = [
  {
    path: /\/head$/,
    why: 'git treats a directory with this file as a repository and runs its configuration',
  },
  { path: /\/\.git$/, why: 'it tells git where a repository is, and git runs the hooks there' },
  { path: /\.git\/(.*\/)?hooks\//, why: 'git runs the files there' },
  { path: /\.git\/(.*\/)?(config|config\.worktree|commondir)$/, why: 'git runs commands from it' },
]
const ours = { path: /\/\.heddle\//, why: 'it belongs to heddle' }

export function refuseGuarded({ folder, names }: Pick<FileLocation, 'folder' | 'names'>): void {
  const below = foldName(`/${names.join('/')}`)
  const whole = foldName(folder) + below
  const rule = ours.path.test(below) ? ours : guardedPaths.find(({ path }) => path.test(whole))
  if (rule) throw protectedPathError(names.join('/'), rule.why)
}

export function protectedPathError(shown: string, why: string): HeddleError {
  const message = `${shownName(shown)} is not written by agents: ${why}`
  return new HeddleError('forbidden', message, 'tell the user what to write there, and let them decide')
}

/** Some file systems ignore case and invisible characters. */
function foldName(path: string): string {
  return path
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
}
