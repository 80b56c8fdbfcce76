/** A part of a folder that is counted separately: a directory with everything below it, or only the files directly in it. */
export interface FolderPart {
  path: string
  isFlat: boolean
}

/** Default path of a report. It is never counted: it did not exist when the parts were counted. */
export const defaultReport = 'REPORT.md'

const flat = 'files directly in '

/** Name of a part in titles, briefs and reports. */
export function partName({ path, isFlat }: FolderPart): string {
  return isFlat ? `${flat}${path}` : path
}

export function parsePart(name: string): FolderPart {
  const isFlat = name.startsWith(flat)
  const path = (isFlat ? name.slice(flat.length) : name).replace(/^\.\/(?=.)/, '').replace(/(?<=.)\/+$/, '')
  return { path, isFlat }
}

/** Input of `search_files` for a part. */
export function searchInput({ path, isFlat }: FolderPart): Record<string, unknown> {
  return { ...(path !== '.' && { path }), ...(isFlat && { glob: '/*' }) }
}

export function containsFile({ path, isFlat }: FolderPart, file: string): boolean {
  const below = path === '.' ? file : file.startsWith(`${path}/`) ? file.slice(path.length + 1) : undefined
  return below !== undefined && !(isFlat && below.includes('/'))
}

/** Path to exclude from counting, according to a task or a brief. */
export function excludedPath(...texts: string[]): string {
  for (const text of texts) {
    const path = /\bleave out:? (\S+\.\w+)/i.exec(text)?.[1]
    if (path !== undefined) return path
  }
  return defaultReport
}
