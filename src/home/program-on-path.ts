import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'

/**
 * First program of that name on a PATH. Skips relative entries, which mean another directory in each folder, and programs
 * whose path or real path is unsafe.
 */
export function programOnPath(
  name: string,
  path: string,
  isUnsafe: (realPath: string) => boolean,
): { program: string } | { passedOver: string | undefined } {
  let passedOver: string | undefined
  for (const entry of path.split(delimiter).filter(isAbsolute)) {
    const program = join(entry, name)
    const real = realProgram(program)
    if (real === undefined) continue
    if (!isUnsafe(real) && !isUnsafe(realpathSync(dirname(program)))) return { program }
    passedOver ??= program
  }
  return { passedOver }
}

function realProgram(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile() ? realpathSync(path) : undefined
  } catch {
    return undefined
  }
}
