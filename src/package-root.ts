import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Directory of this package: the sources lie at different depths, and the build puts many of them into one file. */
export const packageRoot: string = rootAbove(import.meta.dirname)

function rootAbove(directory: string): string {
  const above = dirname(directory)
  return above === directory || existsSync(join(directory, 'package.json')) ? directory : rootAbove(above)
}

/** Where the program's own files are: its sources, or the build. */
export const programRoot: string = join(packageRoot, import.meta.filename.endsWith('.ts') ? 'src' : 'dist')
