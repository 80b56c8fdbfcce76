import { statSync } from 'node:fs'
import { changeTexts, partRedactor } from '../config/secrets.ts'
import { type MarkedText, markFound, shownText } from '../domain/text/marked-text.ts'
import { readableNames, secretReader } from './secrets.ts'
import { minInside, valuePattern } from './value-pattern.ts'

/** Shorter values are in many texts that have nothing to do with the secret. */
const minMarked = 4
/** Min characters of a part of a value that a text begins or ends with: where a long text was cut, it is marked, too. */
const minCut = 8

/** Marks secrets in what leaves the home, which has the name of a secret and never its value. */
interface SecretMarker {
  /** Marks values of stored secrets in plain data as `[secret:NAME]`, and others as `[redacted]`. */
  markSecrets<T>(value: T): T
  /** A text as `markSecrets` marks it, with the values that its marks stand for. */
  markedParts(text: string): MarkedText
}

/** Marks the values in the folder of secrets, whose changes it notices at once, and those of the configuration. */
export function secretMarker(folder: string, configured: readonly string[]): SecretMarker {
  const redact = partRedactor(configured)
  let read: { at: number; marks: Mark[] } = { at: -1, marks: [] }
  const marksNow = () => {
    const at = secretsChangedAt(folder)
    if (at !== read.at) read = { at, marks: at === 0 ? [] : marksOf(folder) }
    return read.marks
  }
  const mark = (text: string, marks: readonly Mark[]) =>
    redact(marks.reduce(withCutMarked, marks.reduce(marked, [text])))
  return {
    markSecrets(value) {
      const marks = marksNow()
      if (marks.length + configured.length === 0) return value
      return changeTexts(value, (text) => shownText(mark(text, marks)))
    },
    markedParts: (text) => mark(text, marksNow()),
  }
}

/** When a secret was last stored or removed; 0 if there is none. */
function secretsChangedAt(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

interface Mark {
  value: string
  pattern: RegExp
  mark: string
}

function marked(text: MarkedText, { pattern, mark }: Mark): MarkedText {
  return markFound(text, pattern, mark)
}

/** Marks a value that a text is cut within: after whole ones, since one value may be the beginning of another. */
function withCutMarked(text: MarkedText, { value, mark }: Mark): MarkedText {
  return value.length < minInside ? text : withBeginningMarked(withEndMarked(text, value, mark), value, mark)
}

/** Marks the beginning of a value that a text is cut within. */
function withEndMarked(text: MarkedText, value: string, mark: string): MarkedText {
  const last = text.at(-1)
  if (typeof last !== 'string') return text
  const from = last.lastIndexOf(value.slice(0, minCut))
  const isCut = from >= 0 && value.startsWith(last.slice(from).replace(/…$/u, ''))
  return isCut ? [...text.slice(0, -1), last.slice(0, from), { mark, value: last.slice(from) }] : text
}

/** Marks the end of a value where a text begins within it. */
function withBeginningMarked(text: MarkedText, value: string, mark: string): MarkedText {
  const [first, ...others] = text
  if (typeof first !== 'string') return text
  const to = first.indexOf(value.slice(-minCut)) + minCut
  const isCut = to >= minCut && value.endsWith(first.slice(0, to))
  return isCut ? [{ mark, value: first.slice(0, to) }, first.slice(to), ...others] : text
}

function marksOf(folder: string): Mark[] {
  const find = secretReader(folder)
  const secrets = readableNames(folder)
    .map((name) => ({ name, value: readableValue(find, name) }))
    .filter(({ value }) => value.length >= minMarked)
  // Longest first: one secret may be a part of another.
  return secrets
    .sort((a, b) => b.value.length - a.value.length)
    .map(({ name, value }) => ({ value, pattern: valuePattern(value), mark: `[secret:${name}]` }))
}

/** Empty if it cannot be read, or is no file: runs that do not need it must go on. */
function readableValue(find: (name: string) => string | undefined, name: string): string {
  try {
    return find(name) ?? ''
  } catch {
    return ''
  }
}
