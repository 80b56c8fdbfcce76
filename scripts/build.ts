import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build } from 'vite'

// Builds the package into dist/, from nothing: a file that src no longer has must not live on in the package.
const root = join(import.meta.dirname, '..')
const from = join(root, 'src')
const to = join(root, 'dist')
/** Libraries of many small files that every question needs: put together, each is found and read at once. */
const joined: Record<string, string> = {
  kysely: 'kysely',
  // The same as modules: Node itself is given CommonJS, whose names a file that is put together no longer tells.
  yaml: join(root, 'node_modules/yaml/browser/index.js'),
  zod: 'zod',
}

rmSync(to, { recursive: true, force: true })
const compiler = spawnSync(process.execPath, [join(root, 'node_modules/.bin/tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})
if (compiler.status !== 0) process.exit(1)
// The compiler leaves behind what is not TypeScript, and the program may read it at run time.
cpSync(from, to, { recursive: true, filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts') })
await joinLibraries()

/** Makes one file of each library, and lets the program import that one. */
async function joinLibraries(): Promise<void> {
  const libraries = join(to, 'libraries')
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      minify: false,
      emptyOutDir: false,
      outDir: libraries,
      rolldownOptions: {
        input: joined,
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
      },
    },
  })
  const imported = new RegExp(`(?<= from |import\\()(['"])(${Object.keys(joined).join('|')})\\1`, 'g')
  for (const entry of readdirSync(to, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (!file.endsWith('.js') || entry.parentPath === libraries) continue
    const path = relative(dirname(file), libraries)
    const text = readFileSync(file, 'utf8')
    const changed = text.replace(
      imported,
      (_, quote, name) => `${quote}${path.startsWith('.') ? '' : './'}${path}/${name}.js${quote}`,
    )
    if (changed !== text) writeFileSync(file, changed)
  }
}
