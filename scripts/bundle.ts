import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { build, type Plugin } from 'vite'

const root = join(import.meta.dirname, '..')

/** Files to make of programs and all that they import. */
export interface Bundle {
  /** Programs by the path that each gets in the directory, without an ending. */
  programs: Record<string, string>
  directory: string
  /**
   * Files for what several parts share, each with modules of src that need all of it: what an earlier file has is left out.
   * Comes with source maps and licences. Left out, each program is one file.
   */
  shared?: Record<string, readonly string[]>
}

/** Puts programs and all that they import into few files: what a short one costs is mostly to find, read and start these. */
export async function bundle({ programs, directory, shared }: Bundle): Promise<void> {
  const split = shared && groupsOf(shared)
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [schemaWithin, widthsLater, quickStart, ...(split ? [split.plugin] : [])],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node24',
      minify: false,
      sourcemap: shared !== undefined,
      license: shared !== undefined && { fileName: 'LICENSES.md' },
      emptyOutDir: false,
      outDir: directory,
      rolldownOptions: {
        input: Object.fromEntries(Object.entries(programs).map(([name, file]) => [name, resolve(root, file)])),
        preserveEntrySignatures: 'strict',
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: ({ name, moduleIds }) => `${nameOfChunk(name, moduleIds)}.js`,
          codeSplitting: split ? { groups: split.groups } : false,
        },
      },
    },
  })
}

/** Modules that are imported as soon as one of a file's own modules is; what is imported later stays where it is. */
function groupsOf(shared: Record<string, readonly string[]>) {
  const fileOf = new Map<string, string>()
  const plugin: Plugin = {
    name: 'shared-files',
    buildEnd() {
      const add = (id: string, file: string) => {
        if (fileOf.has(id)) return
        fileOf.set(id, file)
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) add(imported, file)
      }
      for (const [file, modules] of Object.entries(shared))
        for (const module of modules) add(join(root, 'src', module), file)
    },
  }
  return {
    plugin,
    groups: Object.keys(shared).map((name) => ({ name, test: (id: string) => fileOf.get(id) === name })),
  }
}

/** A file that holds a library has the library's name: `dist` says nothing. */
function nameOfChunk(name: string, modules: readonly string[]): string {
  const [, library] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(modules.at(-1) ?? '') ?? []
  return library === undefined ? name : library.replace('@', '').replace('/', '-')
}

/** The schema that the program reads beside its code: what is put together lies elsewhere. */
const schemaWithin: Plugin = {
  name: 'schema-within',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/sqlite/newest-schema.ts')) return undefined
    const text = readFileSync(join(dirname(id), 'schema.sql'), 'utf8')
    return { code: code.replace(/readFileSync\(.*?'utf8'\)/, () => JSON.stringify(text)), map: null }
  },
}

/** Its patterns and its segmenter read the tables of all languages, a tenth of a start: most commands print plain letters. */
const widthsLater: Plugin = {
  name: 'widths-later',
  transform(code, id) {
    if (!id.endsWith('/string-width/index.js')) return undefined
    const [, imports, body] = /^((?:import .*\n)+)([\s\S]*)$/.exec(code) ?? []
    const main = 'export default function stringWidth('
    if (body?.split(main).length !== 2) throw new Error(`${id} has another form: change widthsLater`)
    const later = `let widthOf; export default (...given) => (widthOf ??= load())(...given);function load() {`
    return { code: `${imports}${later}${body.replace(main, 'return stringWidth; function stringWidth(')}}`, map: null }
  },
}

/** Changes within lines, so that source maps stay right. */
const quickStart: Plugin = {
  name: 'quick-start',
  renderChunk: (code) => ({ code: withBuiltins(code), map: null }),
  // Only here: what chunks become in between is written with every letter as it was.
  generateBundle(_, files) {
    for (const file of Object.values(files)) if (file.type === 'chunk') file.code = inAscii(file.code)
  },
}

/**
 * An import of a built-in module reads everything that it exports, and `node:http` then loads the whole of fetch: asked
 * for directly, a program starts in an eighth less time. Functions of modules that few commands need ask when they are called.
 */
function withBuiltins(code: string): string {
  return code.replace(/^import (.+) from "(node:[\w/]+)";$/gm, (_, names: string, module: string) => {
    const found = `process.getBuiltinModule("${module}")`
    const [, whole, some] = /^(?:(?:\* as )?([\w$]+))?(?:, )?(?:\{ (.*) \})?$/.exec(names) ?? []
    const named = (some?.split(', ') ?? []).map((name) => name.split(' as '))
    const isLater = ([name = '']: string[]) => laterFunctions.has(`${module} ${name}`)
    const now = named.filter((name) => !isLater(name)).map((name) => name.join(': '))
    return [
      ...(whole === undefined ? [] : [`const ${whole} = ${found};`]),
      ...(now.length === 0 ? [] : [`const { ${now.join(', ')} } = ${found};`]),
      ...named.filter(isLater).map(([name, own = name]) => `const ${own} = (...given) => ${found}.${name}(...given);`),
    ].join(' ')
  })
}

/** By module: functions that nothing calls while modules are loaded. Classes and values cannot wait. */
const laterFunctions = new Set(
  Object.entries({
    child_process: ['spawn'],
    'dns/promises': ['lookup'],
    http: ['request', 'createServer'],
    https: ['request', 'createServer'],
    readline: ['createInterface'],
    'stream/consumers': ['text'],
    'stream/promises': ['pipeline'],
    zlib: [
      ...['createBrotliDecompress', 'createGunzip', 'createGzip', 'createInflate', 'createInflateRaw'],
      ...['gunzip', 'gunzipSync', 'gzip', 'gzipSync'],
    ],
  }).flatMap(([module, names]) => names.map((name) => `node:${module} ${name}`)),
)

/**
 * Node keeps a source with any other letter at two bytes for each. In one byte, a program of some megabytes starts in a
 * seventh less time.
 */
function inAscii(code: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return code.replace(/[^\0-\x7f]/g, escaped)
}
