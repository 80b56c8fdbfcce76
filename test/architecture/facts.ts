import { posix } from 'node:path'
import { parseSync } from 'vite'
import { maxParameters } from './rules.ts'
import type { SourceFile } from './tree.ts'

/** What the rules need to know of one file of code. */
export interface Facts {
  path: string
  /** What it depends on, type imports and dynamic ones too: a file by its path from the root, or a module by name. */
  imports: { target: string; isFile: boolean; isTypeOnly: boolean }[]
  /** Names taken from modules, as `module#name`; `module#*` when the whole module is taken. */
  taken: string[]
  /** Global names and members it refers to: `setTimeout`, `Date.now`, `new Date()`. */
  uses: string[]
  /** The contents of its string and template literals, each hole of a template as `?`. */
  texts: string[]
  exports: string[]
  /** Those of them that it declares itself. */
  declares: string[]
  /** Functions, constants, classes and types of its top level that it does not export. */
  locals: string[]
  /** Functions with more parameters than the heart allows, with the line at which each begins. */
  longParameterLists: { start: number; line: number; parameters: number }[]
  /** Why it could not be read; a file that cannot be read proves nothing. */
  problems: string[]
}

/** The target of a dynamic import whose path is computed. */
export const unknownTarget = 'a path that is not written out'

interface Node {
  type: string
  [property: string]: unknown
}

/** Whether a file is code that can be parsed; `bin/heddle` has no ending. */
export function isCode(path: string): boolean {
  return /\.(ts|tsx|js|mjs|jsx)$/.test(path) || /^bin\/[^.]+$/.test(path)
}

/** Reads the facts from the syntax tree, so that comments and look-alikes in text do not count. */
export function factsOf({ path, text }: SourceFile): Facts {
  const { program, module, errors } = parseSync(path.includes('.') ? path : `${path}.js`, text)
  const facts: Facts = {
    path,
    imports: [],
    taken: [],
    uses: [],
    texts: [],
    exports: [],
    declares: [],
    locals: [],
    longParameterLists: [],
    problems: [],
  }
  facts.problems = errors.map((error) => `cannot be parsed: ${error.message}`)

  for (const { moduleRequest, entries } of module.staticImports) {
    addImport(facts, moduleRequest.value, entries.length > 0 && entries.every((entry) => entry.isType))
    for (const { importName } of entries) facts.taken.push(`${moduleRequest.value}#${importName.name ?? '*'}`)
  }
  for (const entry of module.staticExports.flatMap((statement) => statement.entries)) {
    if (entry.moduleRequest) {
      addImport(facts, entry.moduleRequest.value, entry.isType)
      facts.taken.push(`${entry.moduleRequest.value}#${entry.importName.name ?? '*'}`)
    }
    const name = entry.exportName.name ?? (entry.exportName.kind === 'Default' ? 'default' : '*')
    facts.exports.push(name)
    if (!entry.moduleRequest) facts.declares.push(name)
  }
  facts.locals = (program.body as unknown as Node[]).flatMap(namesOf).filter((name) => !facts.declares.includes(name))
  visit(program as unknown as Node, undefined, '', facts)
  for (const list of facts.longParameterLists) list.line = text.slice(0, list.start).split('\n').length
  return facts
}

/** Names that a statement declares; none for one that begins with `export` or `import`. */
function namesOf(statement: Node): string[] {
  if (!/Declaration$/.test(statement.type)) return []
  const declarations = statement.type === 'VariableDeclaration' ? (statement['declarations'] as Node[]) : [statement]
  return declarations.flatMap(({ id }) => (isNode(id) && id.type === 'Identifier' ? String(id['name']) : []))
}

function addImport(facts: Facts, specifier: string, isTypeOnly: boolean): void {
  const isFile = specifier.startsWith('.')
  const target = isFile ? posix.join(posix.dirname(facts.path), specifier) : specifier
  facts.imports.push({ target, isFile, isTypeOnly })
}

function visit(node: Node, parent: Node | undefined, role: string, facts: Facts): void {
  note(node, parent, role, facts)
  for (const [property, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, node, property, facts)
  }
}

function note(node: Node, parent: Node | undefined, role: string, facts: Facts): void {
  if (node.type === 'ImportExpression' || node.type === 'TSImportType') {
    const specifier = textOf(node['source'])
    addImport(facts, specifier ?? unknownTarget, node.type === 'TSImportType')
    facts.taken.push(`${specifier}#*`)
  }
  if (Array.isArray(node['params']) && node.type.includes('Function') && node['params'].length > maxParameters.most)
    facts.longParameterLists.push({ start: Number(node['start']), line: 0, parameters: node['params'].length })
  if (node.type === 'Literal' || node.type === 'TemplateLiteral') facts.texts.push(textOf(node) ?? '')
  if (node.type === 'Identifier' && isReference(parent, role)) facts.uses.push(String(node['name']))
  if (node.type === 'MemberExpression') facts.uses.push(dotted(node))
  if (node.type === 'NewExpression' && isEmpty(node['arguments'])) facts.uses.push(`new ${dotted(node['callee'])}()`)
  if (node.type === 'CallExpression') facts.uses.push(`${dotted(node['callee'])}()`)
  if (node.type === 'VariableDeclarator') facts.uses.push(...unpacked(node))
}

/** `const { now } = Date` reads Date.now as surely as `Date.now` does. */
function unpacked({ id, init }: Node): string[] {
  if (!isNode(id) || id.type !== 'ObjectPattern' || !isNode(init)) return []
  const keys = (id['properties'] as Node[]).map(({ key }) => (isNode(key) ? (key['name'] ?? textOf(key)) : undefined))
  return keys.filter((key) => key !== undefined).map((key) => withoutGlobal(`${dotted(init)}.${key}`))
}

function dotted(node: unknown): string {
  if (!isNode(node)) return '?'
  if (node.type === 'Identifier') return String(node['name'])
  if (node.type !== 'MemberExpression') return '?'
  const property = node['property']
  const name = node['computed'] ? (textOf(property) ?? '?') : isNode(property) ? String(property['name']) : '?'
  return withoutGlobal(`${dotted(node['object'])}.${name}`)
}

function withoutGlobal(name: string): string {
  return name.replace(/^(globalThis|global)\./, '')
}

/** Names of properties, of what is imported and of what is exported are not uses of a global name. */
function isReference(parent: Node | undefined, role: string): boolean {
  if (parent === undefined || /Specifier$/.test(parent.type)) return false
  const isName = role === 'property' || role === 'key'
  return !isName || parent['computed'] === true || parent['shorthand'] === true
}

function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined
  if (node.type !== 'TemplateLiteral') return undefined
  return (node['quasis'] as { value: { cooked: string | null; raw: string } }[])
    .map(({ value }) => value.cooked ?? value.raw)
    .join('?')
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
