import { realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isRoot } from './root.ts'

const checkout = realpathSync(join(import.meta.dirname, '../..'))
// That user may not get to where the checkout lies, below root's home for example: the program finds it here instead,
// by a mount that only it sees.
const mounted = '/mnt'
const script = `mount --bind "$0" ${mounted} && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`

/**
 * The words that start a program as a user who owns nothing; without root, as whoever runs the tests. Arguments that
 * are paths in the checkout lead to the same files.
 */
export function asNobody(program: string, ...args: string[]): [string, string[]] {
  if (!isRoot) return [process.execPath, [program, ...args]]
  const words = [process.execPath, program, ...args].map((word) =>
    word.startsWith(`${checkout}/`) ? join(mounted, relative(checkout, word)) : word,
  )
  return ['unshare', ['--mount', 'sh', '-c', script, checkout, ...words]]
}
