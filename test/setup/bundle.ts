import { copyFileSync, cpSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bundle as bundlePrograms } from '../../scripts/bundle.ts'

const root = join(import.meta.dirname, '../..')

/** A program of the tests and all that it imports in one file. */
export async function bundle(program: string, directory: string): Promise<string> {
  const name = basename(program, '.ts')
  await bundlePrograms({ programs: { [name]: program }, directory })
  return join(directory, `${name}.js`)
}

/** The same with what the program looks for in the package, so that it can be the whole of Heddle. */
export async function bundleWhole(program: string, directory: string): Promise<string> {
  mkdirSync(directory, { recursive: true })
  copyFileSync(join(root, 'package.json'), join(directory, 'package.json'))
  cpSync(join(root, 'agents'), join(directory, 'agents'), { recursive: true })
  const schema = 'store/sqlite/schema.sql'
  cpSync(join(root, 'src', schema), join(directory, 'dist', schema), { recursive: true })
  await bundle('src/tools/files/file-thread.ts', join(directory, 'dist/tools/files'))
  return bundle(program, join(directory, 'programs'))
}
