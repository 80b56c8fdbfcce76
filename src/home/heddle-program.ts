import { join } from 'node:path'
import { packageRoot } from '../package-root.ts'

/** The program of this package that commands start again, such as the daemon. */
export const heddleProgram: string = join(packageRoot, 'bin', 'heddle')
