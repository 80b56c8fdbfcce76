/** A part of a folder that is counted for itself: a directory with all below it, or only the files directly in one. */
export interface Part {
  path: string
  isFlat: boolean
}

/** Where a report goes when nobody says where. It is never counted: it was not there when others counted. */
export const usualReport = 'REPORT.md'

const flat = 'files directly in '

/** What a part is called, in titles, briefs and reports alike. */
export function nameOf({ path, isFlat }: Part): string {
  return isFlat ? `${flat}${path}` : path
}

export function partNamed(name: string): Part {
  const isFlat = name.startsWith(flat)
  const path = (isFlat ? name.slice(flat.length) : name).replace(/^\.\/(?=.)/, '').replace(/(?<=.)\/+$/, '')
  return { path, isFlat }
}

/** Where `search_files` looks for a part. */
export function placeOf({ path, isFlat }: Part): Record<string, unknown> {
  return { ...(path !== '.' && { path }), ...(isFlat && { glob: '/*' }) }
}

export function holds({ path, isFlat }: Part, file: string): boolean {
  const below = path === '.' ? file : file.startsWith(`${path}/`) ? file.slice(path.length + 1) : undefined
  return below !== undefined && !(isFlat && below.includes('/'))
}

/** What is not to be counted, as a task or a brief says it. */
export function leftOut(...texts: string[]): string {
  for (const text of texts) {
    const path = /\bleave out:? (\S+\.\w+)/i.exec(text)?.[1]
    if (path !== undefined) return path
  }
  return usualReport
}
