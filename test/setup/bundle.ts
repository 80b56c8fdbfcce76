import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'vite'

const root = join(import.meta.dirname, '../..')
const threads = 'tools/files/file-thread.ts'

/** A program of the tests and all that it imports in one file: what a short one costs is mostly the start of Node. */
export async function bundle(program: string, directory: string): Promise<string> {
  await bundleInto(program, directory, [])
  return fileOf(program, directory)
}

/**
 * The same with what the program looks for beside itself, so that it can be the whole of Heddle. It may be moved to
 * where it is to last.
 */
export async function bundleWhole(program: string, directory: string, lasting = directory): Promise<string> {
  mkdirSync(directory, { recursive: true })
  copyFileSync(join(root, 'package.json'), join(directory, 'package.json'))
  cpSync(join(root, 'agents'), join(directory, 'agents'), { recursive: true })
  const places = [placesIn(join(lasting, 'dist'))]
  await bundleInto(`src/${threads}`, join(directory, 'dist', dirname(threads)), places)
  const into = join(directory, 'programs')
  await bundleInto(program, into, places)
  return fileOf(program, into)
}

async function bundleInto(program: string, directory: string, plugins: Plugin[]): Promise<void> {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins,
    build: {
      ssr: program,
      outDir: directory,
      emptyOutDir: true,
      target: 'node24',
      rollupOptions: { output: { codeSplitting: false } },
    },
    ssr: { noExternal: true },
  })
  const file = fileOf(program, directory)
  writeFileSync(file, inAscii(withBuiltins(readFileSync(file, 'utf8'))))
}

/**
 * An import of a built-in module reads everything that it exports, and `node:http` then loads the whole of fetch: asked
 * for directly, a program starts in an eighth less time.
 */
function withBuiltins(code: string): string {
  return code.replace(/^import (.+) from "(node:[\w/]+)";$/gm, (_, names: string, module: string) => {
    const found = `process.getBuiltinModule("${module}")`
    const [, whole, some] = /^(?:(?:\* as )?([\w$]+))?(?:, )?(\{.*\})?$/.exec(names) ?? []
    const parts = [whole, some?.replaceAll(' as ', ': ')].filter((part) => part !== undefined)
    return parts.map((part) => `const ${part} = ${found};`).join(' ')
  })
}

/**
 * Node keeps a source with any other letter at two bytes for each. In one byte, a program of some megabytes starts in a
 * seventh less time.
 */
function inAscii(code: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return code.replace(/[^\0-\x7f]/g, escaped)
}

/** Lets each source file think that it is where the build of the package would have put it. */
function placesIn(dist: string): Plugin {
  return {
    name: 'places-of-the-package',
    transform(code, id) {
      const path = relative(join(root, 'src'), id)
      if (path.startsWith('..') || !code.includes('import.meta.')) return undefined
      const place = join(dist, path.replace(/\.ts$/, '.js'))
      return code
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(place)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(place).href))
    },
  }
}

function fileOf(program: string, directory: string): string {
  return join(directory, basename(program).replace(/\.ts$/, '.js'))
}
