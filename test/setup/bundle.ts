import { basename, join } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '../..')

/** A program of the tests and all that it imports in one file: what a short one costs is mostly the start of Node. */
export async function bundle(program: string, directory: string): Promise<string> {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      ssr: program,
      outDir: directory,
      emptyOutDir: true,
      target: 'node24',
      rollupOptions: { output: { codeSplitting: false } },
    },
    ssr: { noExternal: true },
  })
  return join(directory, basename(program).replace(/\.ts$/, '.js'))
}
