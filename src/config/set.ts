import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isNode, isScalar, type Node } from 'yaml'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { valueAt } from './check.ts'
import { readConfigText } from './config.ts'
import { dotted } from './path.ts'
import { ConfigInvalid } from './problem.ts'
import { type ReplaceOptions, replaceConfig } from './replace.ts'
import { knownPath } from './show.ts'
import { parseYaml, unmask } from './yaml.ts'

/** Each failed attempt means that somebody else's change went in, so many are a sign of something else. */
const maxAttempts = 100

/** Sets one value in the file: comments, order and every other value stay, and the result is checked before it counts. */
export async function configSet(file: string, path: string, value: string, options: ReplaceOptions): Promise<void> {
  const segments = knownPath(path)
  const wanted = wantedFrom(value, path)
  for (let attempt = 1; ; attempt++) {
    const oldText = await readConfigText(file)
    const newText = withValue(file, oldText ?? '', segments, wanted)
    try {
      return await replaceConfig(file, newText, oldText, options)
    } catch (error) {
      const lostRace = error instanceof HeddleError && error.code === 'config_changed'
      // The change is stated against whatever the file says, so it can be made again on top of the other one.
      if (!lostRace || attempt === maxAttempts) throw error
    }
  }
}

interface Wanted {
  data: unknown
  /** The value as YAML that fits on one line. */
  source: string
}

/** What somebody typed, read as YAML; what is no YAML (`@writer`) is meant as text. */
function wantedFrom(typed: string, path: string): Wanted {
  const { value, problems } = parseYaml(typed)
  const isData = problems.length === 0 && value !== undefined && !typed.trim().includes('\n')
  if (!isData) return { data: typed, source: JSON.stringify(typed) }
  if (value !== null) return { data: value, source: typed.trim() }
  throw new Misuse(`${path} needs a value.`, 'give one, or remove the line with: heddle config edit')
}

/** The text with one value changed. Of the ways to write it, the first that changes nothing else is taken. */
function withValue(file: string, text: string, segments: string[], wanted: Wanted): string {
  const parsed = parseYaml(text)
  if (parsed.problems.length > 0) {
    throw new ConfigInvalid(
      file,
      parsed.problems.map((problem) => ({ path: '', ...problem })),
    )
  }
  if (isDeepStrictEqual(valueAt(parsed.value, segments), wanted.data)) return text
  const expected = placed(parsed.value, segments, wanted.data)
  for (const write of [inPlace, intoSection, atTheEnd, throughDocument]) {
    const written = write(text, segments, wanted)
    if (written !== undefined && isDeepStrictEqual(parseYaml(written).value, expected)) return written
  }
  throw new HeddleError(
    'config_unwritable',
    `Cannot change ${dotted(segments)} in ${file} without changing more.`,
    'change it by hand with: heddle config edit',
  )
}

/** The value's own characters are exchanged: spacing and comments around it stay as somebody arranged them. */
function inPlace(text: string, segments: string[], { source }: Wanted): string | undefined {
  const node = parseYaml(text).document?.getIn(segments, true) as Node | undefined
  if (!node?.range || (isScalar(node) && node.value === null)) return undefined
  // The range of an indented section includes the end of its last line.
  const end = node.range[0] + text.slice(node.range[0], node.range[1]).trimEnd().length
  return text.slice(0, node.range[0]) + source + text.slice(end)
}

/** A key that its section lacks becomes a line of its own below the section's last one. */
function intoSection(text: string, segments: string[], { source }: Wanted): string | undefined {
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

/** A section that is not there yet comes last, after all comments. */
function atTheEnd(text: string, segments: string[], { source }: Wanted): string {
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${gap}${linesFor(segments, source, 0)}\n`
}

function linesFor(keys: string[], source: string, indent: number): string {
  const lines = keys.map((key, depth) => `${' '.repeat(indent + 2 * depth)}${keyText(key)}:`)
  return `${lines.join('\n')} ${source}`
}

/** Everything else: the file is written anew from its document, which keeps comments and order but not all spacing. */
function throughDocument(text: string, segments: string[], { data }: Wanted): string | undefined {
  const document = parseYaml(text).document
  if (!document) return undefined
  try {
    for (let depth = 1; depth < segments.length; depth++) fillEmpty(document, segments.slice(0, depth))
    document.setIn(segments, document.createNode(data))
    return unmask(document.toString({ lineWidth: 0 }))
  } catch {
    // The document refuses, for instance, to change what an alias points at: then this way does not exist.
    return undefined
  }
}

/** A section whose lines are all commented out is no map yet; its comments move into the one it becomes. */
function fillEmpty(document: Document.Parsed, section: string[]): void {
  const node: unknown = document.getIn(section, true)
  if (!isScalar(node) || node.value !== null) return
  const map = document.createNode({})
  map.commentBefore = [node.commentBefore, node.comment].filter(Boolean).join('\n')
  document.setIn(section, map)
}

/** A copy of the data with the value in place; sections on the way are made. */
function placed(value: unknown, [key, ...rest]: string[], wanted: unknown): unknown {
  if (key === undefined) return wanted
  const section = value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}
  return { ...section, [key]: placed(valueAt(section, [key]), rest, wanted) }
}

function keyText(key: string): string {
  return /^[A-Za-z][\w-]*$/.test(key) ? key : JSON.stringify(key)
}
