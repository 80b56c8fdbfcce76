import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isNode, isScalar, type Node } from 'yaml'
import { HeddleError, UsageError } from '../domain/errors.ts'
import { valueAt } from './check.ts'
import { readConfigText } from './config.ts'
import { formatPath } from './path.ts'
import { ConfigInvalid } from './problem.ts'
import { type ReplaceOptions, replaceConfig } from './replace.ts'
import { parseKnownPath } from './show.ts'
import { parseYaml, unmask } from './yaml.ts'

/** Each failed attempt means that another process changed the file; so many failures have another cause. */
const maxAttempts = 100

/** Sets one value in the file: comments, order and all other values stay, and the result is validated first. */
export async function configSet(file: string, path: string, value: string, options: ReplaceOptions): Promise<void> {
  const segments = parseKnownPath(path)
  const newValue = parseValue(value, path)
  for (let attempt = 1; ; attempt++) {
    const oldText = await readConfigText(file)
    const newText = withValue(file, oldText ?? '', segments, newValue)
    try {
      return await replaceConfig(file, newText, oldText, options)
    } catch (error) {
      const lostRace = error instanceof HeddleError && error.code === 'config_changed'
      // The change does not depend on other values, so it can be applied again to the new text.
      if (!lostRace || attempt === maxAttempts) throw error
    }
  }
}

interface NewValue {
  data: unknown
  /** The value as one line of YAML. */
  source: string
}

/** Parses a typed value as YAML; anything else (`@writer`) is text. */
function parseValue(typed: string, path: string): NewValue {
  const { value, problems } = parseYaml(typed)
  const isData = problems.length === 0 && value !== undefined && !typed.trim().includes('\n')
  if (!isData) return { data: typed, source: JSON.stringify(typed) }
  if (value !== null) return { data: value, source: typed.trim() }
  throw new UsageError(`${path} needs a value`, 'give one, or remove the line with: heddle config edit')
}

/** Changes one value in the text, with the first method that changes nothing else. */
function withValue(file: string, text: string, segments: string[], newValue: NewValue): string {
  const parsed = parseYaml(text)
  if (parsed.problems.length > 0) {
    throw new ConfigInvalid(
      file,
      parsed.problems.map((problem) => ({ path: '', ...problem })),
    )
  }
  if (isDeepStrictEqual(valueAt(parsed.value, segments), newValue.data)) return text
  const expected = withValueAt(parsed.value, segments, newValue.data)
  for (const write of [replaceInPlace, addToSection, appendSection, rewriteDocument]) {
    const written = write(text, segments, newValue)
    if (written !== undefined && isDeepStrictEqual(parseYaml(written).value, expected)) return written
  }
  throw new HeddleError(
    'config_unwritable',
    `cannot change ${formatPath(segments)} in ${file} without changing more`,
    'change it by hand with: heddle config edit',
  )
}

/** Replaces only the value's characters: spacing and comments around it stay. */
function replaceInPlace(text: string, segments: string[], { source }: NewValue): string | undefined {
  const node = parseYaml(text).document?.getIn(segments, true) as Node | undefined
  if (!node?.range || (isScalar(node) && node.value === null)) return undefined
  // The range of an indented section includes the end of its last line.
  const end = node.range[0] + text.slice(node.range[0], node.range[1]).trimEnd().length
  return text.slice(0, node.range[0]) + source + text.slice(end)
}

/** Adds a missing key as a new line at the end of its section. */
function addToSection(text: string, segments: string[], { source }: NewValue): string | undefined {
  const document = parseYaml(text).document
  for (let depth = segments.length - 1; depth > 0; depth--) {
    const section: unknown = document?.getIn(segments.slice(0, depth), true)
    const last = isMap(section) && !section.flow ? section.items.at(-1) : undefined
    if (!isScalar(last?.key) || !last.key.range) continue
    const end = (isNode(last.value) && last.value.range?.[1]) || last.key.range[1]
    const lineEnd = text[end - 1] === '\n' ? end - 1 : text.indexOf('\n', end)
    const at = lineEnd < 0 ? text.length : lineEnd
    const indent = last.key.range[0] - (text.lastIndexOf('\n', last.key.range[0] - 1) + 1)
    return `${text.slice(0, at)}\n${linesFor(segments.slice(depth), source, indent)}${text.slice(at)}`
  }
  return undefined
}

/** Appends a missing section at the end, after all comments. */
function appendSection(text: string, segments: string[], { source }: NewValue): string {
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${gap}${linesFor(segments, source, 0)}\n`
}

function linesFor(keys: string[], source: string, indent: number): string {
  const lines = keys.map((key, depth) => `${' '.repeat(indent + 2 * depth)}${keyText(key)}:`)
  return `${lines.join('\n')} ${source}`
}

/** Fallback: rewrites the file from its document, which keeps comments and order but not all spacing. */
function rewriteDocument(text: string, segments: string[], { data }: NewValue): string | undefined {
  const document = parseYaml(text).document
  if (!document) return undefined
  try {
    for (let depth = 1; depth < segments.length; depth++) fillEmpty(document, segments.slice(0, depth))
    document.setIn(segments, document.createNode(data))
    return unmask(document.toString({ lineWidth: 0 }))
  } catch {
    // The document refuses, for instance, to change the target of an alias; then this method does not apply.
    return undefined
  }
}

/** A section with all lines commented out is not a map yet; its comments move into the new map. */
function fillEmpty(document: Document.Parsed, section: string[]): void {
  const node: unknown = document.getIn(section, true)
  if (!isScalar(node) || node.value !== null) return
  const map = document.createNode({})
  map.commentBefore = [node.commentBefore, node.comment].filter(Boolean).join('\n')
  document.setIn(section, map)
}

/** A copy of the data with the value set; missing sections are created. */
function withValueAt(value: unknown, [key, ...rest]: string[], newValue: unknown): unknown {
  if (key === undefined) return newValue
  const section = value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}
  return { ...section, [key]: withValueAt(valueAt(section, [key]), rest, newValue) }
}

function keyText(key: string): string {
  return /^[A-Za-z][\w-]*$/.test(key) ? key : JSON.stringify(key)
}
