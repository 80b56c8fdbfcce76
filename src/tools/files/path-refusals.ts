import type { Stats } from 'node:fs'
import { HeddleError } from '../../domain/errors.ts'
import type { Kind } from '../../domain/tools/path-handle.ts'
import { shownName } from './shown-name.ts'

export function kindOf(of: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Kind {
  if (of.isFile()) return 'file'
  if (of.isDirectory()) return 'directory'
  return of.isSymbolicLink() ? 'link' : 'other'
}

export function outsideFolderError(shown: string): HeddleError {
  const message = `${shownName(shown)} leads out of the session's folder`
  return new HeddleError(
    'forbidden',
    message,
    'give a path inside the folder; list_dir with path . shows what is there',
  )
}

export function wrongKind(wanted: 'file' | 'directory', shown: string, stats: Stats): HeddleError {
  const is = { directory: 'a directory', file: 'a file', link: 'a link', other: 'a device, pipe or socket' }[
    kindOf(stats)
  ]
  const remedy = {
    directory: 'list_dir shows what is in it',
    file: 'read_file shows what is in it',
    link: 'try again',
    other: 'go on without it',
  }[kindOf(stats)]
  return new HeddleError('wrong_kind', `${shownName(shown)} is ${is}, not a ${wanted}`, remedy)
}

export function changedFileError(shown: string, remedy = 'try again'): HeddleError {
  const message = `${shownName(shown)} was changed while it was opened`
  return new HeddleError('changed', message, remedy, { retry: 'later' })
}
