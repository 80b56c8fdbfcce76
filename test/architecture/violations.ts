import { posix } from 'node:path'
import { type Facts, factsOf, isCode, unknownTarget } from './facts.ts'
import { listOfNames, publicNames } from './public-names.ts'
import {
  databaseModules,
  engineLayers,
  exportedOnPurpose,
  handlesOnly,
  localOnPurpose,
  lockFile,
  machine,
  maxFiles,
  maxLines,
  maxParameters,
  mayImport,
  network,
  processOnly,
  publicFiles,
  sql,
  turns,
  turnWaiters,
  vagueNames,
  vagueWords,
  webMayImport,
} from './rules.ts'
import type { SourceFile } from './tree.ts'

/** Everything in these files that breaks a rule of the house, as lines that start with the path. */
export function violations(files: readonly SourceFile[]): string[] {
  const code = files.filter((file) => isCode(file.path)).map(factsOf)
  const source = code.filter((facts) => facts.path.startsWith('src/'))
  const web = code.filter((facts) => facts.path.startsWith('web/'))
  return [
    ...code.flatMap((facts) => facts.problems.map((problem) => `${facts.path}: ${problem}`)),
    ...source.flatMap(forbiddenImports),
    ...source.filter(({ path }) => layerOf(path) >= 0).flatMap(upwardImports),
    ...web.flatMap(forbiddenWebImports),
    ...source.flatMap(importsOfWords),
    ...cycles(code),
    ...namesDeclaredTwice(source),
    ...localNamesOfExports(source),
    ...namesDeclaredTwice(web.filter(({ path }) => !path.startsWith('web/src/pages/'))),
    ...source.filter(({ path }) => path.startsWith(maxParameters.folder)).flatMap(longLists),
    ...deadExports(code),
    ...crowdedFolders([...source, ...web]),
    ...files
      .filter(isTooLong)
      .map(({ path }) => `${path}: is longer than ${maxLines} lines; give each idea its own file`),
    ...files.filter(({ path }) => hasVagueName(path)).map(({ path }) => `${path}: is not named for its idea`),
    ...source.filter(({ path }) => roomOf(path) !== 'store' && path !== lockFile).flatMap(sqlOutsideStore),
    ...source.filter(({ path }) => path !== 'src/system.ts').flatMap(machineOutsidePorts),
    ...source.filter(({ path }) => handlesOnly.rooms.includes(roomOf(path))).flatMap(waysAroundHandles),
    ...[...source, ...web].flatMap(waysToTheNetwork),
    ...source.flatMap(usesOfTheProcess),
    ...unlistedNames(files),
  ]
}

function longLists({ path, longParameterLists }: Facts): string[] {
  return longParameterLists.map(
    ({ line, parameters }) => `${path}:${line}: has ${parameters} parameters; give them as an object with names`,
  )
}

function forbiddenImports({ path, imports }: Facts): string[] {
  const room = roomOf(path)
  const allowed = mayImport[room]
  if (allowed === undefined) return [`${path}: ${room} is not a room; add it to test/architecture/rules.ts`]
  return imports
    .filter((found) => isOurs(found))
    .filter(({ target }) => !target.startsWith('src/') || ![room, ...allowed].includes(roomOf(target)))
    .map(({ target }) => `${path}: imports ${target}, but ${room} may import ${allowed.join(', ') || 'nothing'}`)
}

/** Between the folders of the engine: down the layers only. */
function upwardImports({ path, imports }: Facts): string[] {
  const own = layerOf(path)
  return imports
    .filter(({ target }) => layerOf(target) > own)
    .map(({ target }) => `${path}: imports ${target}, which is a layer above it`)
}

function layerOf(path: string): number {
  const [, room, folder] = path.split('/')
  return room === 'engine' ? engineLayers.indexOf(folder ?? '') : -1
}

function forbiddenWebImports({ path, imports }: Facts): string[] {
  return imports
    .filter((found) => isOurs(found) && !found.target.startsWith('web/'))
    .filter(({ target }) => !target.startsWith(webMayImport.words))
    .filter(({ target, isTypeOnly }) => target !== webMayImport.types || !isTypeOnly)
    .map(
      ({ target }) =>
        `${path}: imports ${target}, but web may import only types of ${webMayImport.types} and ${webMayImport.words}`,
    )
}

function importsOfWords({ path, imports }: Facts): string[] {
  return imports
    .filter(({ isTypeOnly }) => path.startsWith(webMayImport.words) && !isTypeOnly)
    .map(({ target }) => `${path}: imports ${target}, which the page would load, too`)
}

/** The room of a file below src: its folder, or for a file at the top its own name. */
function roomOf(path: string): string {
  return path.split('/')[1] ?? ''
}

/** The package by its own name, and a path nobody can read, would be ways around every rule. */
function isOurs({ target, isFile }: Facts['imports'][number]): boolean {
  return isFile || target === unknownTarget || /^heddle(\/|$)/.test(target)
}

/** An exported name means one thing in all of src, so that whoever searches for it finds it. */
function namesDeclaredTwice(source: readonly Facts[]): string[] {
  const all = source.flatMap(({ path, declares }) =>
    [...new Set(declares)].filter((name) => name !== 'default').map((name) => ({ path, name })),
  )
  return [...Map.groupBy(all, ({ name }) => name)].flatMap(([name, [first, ...others]]) =>
    others.map(({ path }) => `${path}: exports ${name}, and so does ${first?.path}`),
  )
}

/** A local name of what another file exports would be read as that, and found by whoever searches for it. */
function localNamesOfExports(source: readonly Facts[]): string[] {
  const exporters = new Map(source.flatMap(({ path, declares }) => declares.map((name) => [name, path])))
  return source.flatMap(({ path, locals }) =>
    [...new Set(locals)]
      .filter((name) => exporters.has(name) && !localOnPurpose.has(`${path}#${name}`))
      .map((name) => `${path}: declares ${name}, which ${exporters.get(name)} exports; import that or name it apart`),
  )
}

/**
 * Names that are exported for no other file. Tests may take what its own file uses as well; what only a test uses is dead.
 * The public files export for users of the package.
 */
function deadExports(code: readonly Facts[]): string[] {
  const takers = new Map<string, Set<string>>()
  for (const { path, taken } of code)
    for (const name of taken) {
      const key = name.startsWith('.') ? posix.join(posix.dirname(path), name) : name
      takers.set(key, (takers.get(key) ?? new Set()).add(isProgram(path) ? 'program' : 'test'))
    }
  return code
    .filter(({ path }) => /^(src|web\/src)\//.test(path) && !publicFiles.includes(path))
    .flatMap(({ path, declares, uses }) =>
      [...new Set(declares)]
        .filter((name) => !exportedOnPurpose.has(`${path}#${name}`))
        .flatMap((name) => {
          const by = new Set([...(takers.get(`${path}#${name}`) ?? []), ...(takers.get(`${path}#*`) ?? [])])
          if (by.has('program')) return []
          if (by.size === 0) return [`${path}: exports ${name}, which no other file uses`]
          const isUsedHere = uses.filter((used) => used === name).length > 1
          return isUsedHere ? [] : [`${path}: exports ${name}, which only tests use`]
        }),
    )
}

function isProgram(path: string): boolean {
  return /^(src|bin|web)\//.test(path)
}

/** A folder shows one subject; a long list hides it. */
function crowdedFolders(source: readonly Facts[]): string[] {
  return [...Map.groupBy(source, ({ path }) => posix.dirname(path))]
    .filter(([, files]) => files.length > maxFiles)
    .map(
      ([folder, files]) =>
        `${folder}: has ${files.length} files, more than ${maxFiles}; make a folder for a part of them`,
    )
}

/** One line for each import that closes a circle, naming the way around. */
function cycles(code: readonly Facts[]): string[] {
  const known = new Set(code.map(({ path }) => path))
  const next = new Map(
    code.map(({ path, imports }) => [path, imports.map(({ target }) => target).filter((target) => known.has(target))]),
  )
  const state = new Map<string, 'open' | 'done'>()
  const trail: string[] = []
  const found: string[] = []
  const walk = (path: string): void => {
    if (state.get(path) === 'done') return
    if (state.get(path) === 'open') {
      found.push(`${path}: imports itself by way of ${[...trail.slice(trail.indexOf(path)), path].join(' -> ')}`)
      return
    }
    state.set(path, 'open')
    trail.push(path)
    for (const target of new Set(next.get(path))) walk(target)
    trail.pop()
    state.set(path, 'done')
  }
  for (const path of known) walk(path)
  return found
}

function isTooLong({ path, text }: SourceFile): boolean {
  // Dumps and captures are compared, not read.
  const isRead = isCode(path) || (path.startsWith('src/') && !path.endsWith('.sql')) || path.endsWith('.css')
  return isRead && text.trimEnd().split('\n').length > maxLines
}

function hasVagueName(path: string): boolean {
  if (!isCode(path) || path === 'src/index.ts') return false
  return path.split('/').some((part) => {
    const name = part.split('.')[0] ?? ''
    return vagueNames.includes(name) || vagueWords.includes(name.split('-').at(-1) ?? '')
  })
}

function sqlOutsideStore({ path, imports, texts }: Facts): string[] {
  const drivers = imports.filter(({ target }) => databaseModules.test(target))
  const statements = texts.filter((text) => sql.test(text))
  return [
    ...drivers.map(({ target }) => `${path}: imports ${target}, which belongs to src/store`),
    ...statements.map((text) => `${path}: has SQL, which belongs to src/store: ${text.trim().slice(0, 40)}`),
  ]
}

function machineOutsidePorts({ path, uses, taken, imports }: Facts): string[] {
  const names = new Set([...uses, ...taken, ...imports.map(({ target }) => target)])
  const asked = [...names].filter((name) => machine.test(name))
  const turned =
    roomOf(path) === 'store' || turnWaiters.includes(path) ? [] : [...names].filter((name) => turns.test(name))
  return [
    ...asked.map((name) => `${path}: uses ${name}; take a Clock or a Random as an argument`),
    ...turned.map((name) => `${path}: uses ${name}, which only src/store may`),
  ]
}

function waysAroundHandles({ path, imports, uses }: Facts): string[] {
  const reached = imports.filter(({ isTypeOnly }) => !isTypeOnly).map(({ target }) => target)
  const names = [
    ...new Set([
      ...reached.map((target) => target.replace(/^(?:node:)?(fs|child_process)(\/.*)?$/, 'node:$1')),
      ...uses,
    ]),
  ]
  return names
    .filter((name) => handlesOnly.detours.test(name) || !(handlesOnly.importers[name] ?? [path]).includes(path))
    .map((name) => `${path}: uses ${name}; tools reach files by the handles of their call, programs by the sandbox`)
}

function waysToTheNetwork({ path, imports, uses }: Facts): string[] {
  const modules = imports
    .filter(({ target, isTypeOnly }) => !isTypeOnly && network.modules.test(target) && !network.moduleUsers.test(path))
    .map(({ target }) => target)
  const globals = network.globalUsers.test(path) ? [] : uses.filter((name) => network.globals.test(name))
  return [...new Set([...modules, ...globals])].map(
    (name) => `${path}: uses ${name}; take a SafeFetch as an argument, so that every address is checked`,
  )
}

function usesOfTheProcess({ path, imports, uses, taken }: Facts): string[] {
  if (roomOf(path) !== processOnly.room || path === processOnly.user) return []
  // Every mention of a member mentions `process`, too; only an import of it is a way around.
  const names = [...uses.filter((name) => name !== 'process'), ...taken, ...imports.map(({ target }) => target)]
  return [...new Set(names)]
    .filter((name) => processOnly.names.test(name))
    .map((name) => `${path}: uses ${name}; take it from the command's CommandIo`)
}

function unlistedNames(files: readonly SourceFile[]): string[] {
  const listed =
    files
      .find(({ path }) => path === listOfNames)
      ?.text.split('\n')
      .filter(Boolean) ?? []
  const actual = publicNames(files)
  const advice = 'run npm run names if you mean to change what users import'
  return [
    ...actual
      .filter((name) => name.endsWith(': *'))
      .map((name) => `${listOfNames}: "${name}" hides names; write them out`),
    ...actual.filter((name) => !listed.includes(name)).map((name) => `${listOfNames}: lacks "${name}"; ${advice}`),
    ...listed
      .filter((name) => !actual.includes(name))
      .map((name) => `${listOfNames}: "${name}" is not exported; ${advice}`),
  ]
}
