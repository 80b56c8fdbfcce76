import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')

/** Builds the page into a directory, each file compressed beside itself: compressing at the first request takes seconds. */
export async function buildWeb(directory: string): Promise<void> {
  // Tests only ask where it is kept.
  const { build } = await import('vite')
  await build({
    configFile: join(root, 'web/vite.config.ts'),
    logLevel: 'error',
    build: { outDir: directory, emptyOutDir: true },
  })
  for (const file of globSync('**/*.{html,js,css,svg}', { cwd: directory }).map((name) => join(directory, name))) {
    const content = readFileSync(file)
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
    writeFileSync(`${file}.br`, brotliCompressSync(content, { params }))
  }
}

/** Where the page of this checkout is kept as it was built from its present sources, for the package and the tests. */
export function keptPage(): string {
  const hash = createHash('sha256')
  for (const file of globSync(['web/**/*.*', 'src/api/words/*.ts', 'scripts/web.ts', 'package-lock.json'], {
    cwd: root,
  }).sort())
    hash.update(`${file}\n`).update(readFileSync(join(root, file)))
  return join(root, 'node_modules/.cache/heddle-web', `page-${hash.digest('hex').slice(0, 16)}`)
}
