import type { UnsafeCall } from '../../domain/tools/touched.ts'
import { printable } from '../terminal/screen.ts'

/** Calls that undo cannot revert, each with the files it was seen to change. */
export function commandLines(calls: readonly UnsafeCall[]): string[] {
  return calls.flatMap(({ name, about, touched }) => {
    const call = `  ${printable(name)} ${printable(about)}`
    if (!touched) return [`${call}: what it changed is unknown`]
    if ('unseen' in touched) return [`${call}: its changes were not checked, because ${printable(touched.unseen)}`]
    const { changed, removed, created, more } = touched
    const files = [...pathLines('changed', changed), ...pathLines('removed', removed), ...pathLines('created', created)]
    if (files.length === 0) return [`${call}: no file changed, except perhaps ignored ones, .git and node_modules`]
    return [call, ...files, ...(more > 0 ? [`    … and ${more} more`] : [])]
  })
}

function pathLines(what: string, paths: string[]): string[] {
  return paths.map((path) => `    ${what}  ${printable(path)}`)
}
