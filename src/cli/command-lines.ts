import type { UnsafeCall } from '../domain/touched.ts'
import { printable } from './screen.ts'

/** Calls that undo does not take back, each with the files that it was seen to change. */
export function commandLines(calls: readonly UnsafeCall[]): string[] {
  return calls.flatMap(({ name, about, touched }) => {
    const call = `  ${printable(name)} ${printable(about)}`
    if (!touched) return [`${call}: nobody knows what it changed`]
    if ('unseen' in touched) return [`${call}: nobody looked what it changed, since ${printable(touched.unseen)}`]
    const { changed, removed, created, more } = touched
    const files = [...named('changed', changed), ...named('removed', removed), ...named('created', created)]
    if (files.length === 0) return [`${call}: no file changed but perhaps ignored ones, .git and node_modules`]
    return [call, ...files, ...(more > 0 ? [`    … and ${more} more`] : [])]
  })
}

function named(what: string, paths: string[]): string[] {
  return paths.map((path) => `    ${what}  ${printable(path)}`)
}
