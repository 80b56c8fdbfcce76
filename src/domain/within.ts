/** Whether a path is the folder or lies below it; a neighbour whose name begins alike does not. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}
