/** One character of a pattern: any run of characters, any one, one of a set, or itself. */
type Piece = '*' | '?' | { text: string } | { set: (character: string) => boolean }

/** A path component of a pattern: `**` matches any number of names, one without wildcards only itself. */
type ComponentPattern = '**' | { name: string } | Piece[]

/** A parsed path pattern, from an ignore file or a glob. */
export interface Glob {
  parts: ComponentPattern[]
}

/**
 * Parses a pattern: `*` and `?` within a name, `**` for any number of names, `[a-z]`, `\` as escape. A pattern without a
 * slash, except at its end, matches at any depth. Undefined if it can match nothing.
 */
export function readGlob(pattern: string): Glob | undefined {
  const isAnywhere = !pattern.includes('/')
  const names = pattern.replace(/^\//, '').split('/')
  const parts: ComponentPattern[] = isAnywhere ? ['**'] : []
  for (const [at, name] of names.entries()) {
    if (/^\*{2,}$/.test(name)) {
      // At the end it matches everything inside, which is at least one name.
      parts.push(
        ...(at === names.length - 1
          ? (['**', ['*']] satisfies ComponentPattern[])
          : (['**'] satisfies ComponentPattern[])),
      )
      continue
    }
    const pieces = readName(name)
    if (!pieces) return undefined
    parts.push(componentPattern(pieces))
  }
  return { parts }
}

/** Whether a path, given by its components, matches. Time is at most path length times pattern length. */
export function matchesGlob({ parts }: Glob, names: readonly string[]): boolean {
  return matchRun(
    parts,
    names,
    (part) => part === '**',
    (part, name) => part !== '**' && matchesName(part, name),
  )
}

/** Splits text once here and not for each name: every file of a folder is matched. */
function componentPattern(pieces: Piece[]): Exclude<ComponentPattern, '**'> {
  const [only] = pieces
  if (pieces.length === 1 && typeof only === 'object' && 'text' in only) return { name: only.text }
  return pieces.flatMap((piece): Piece[] =>
    typeof piece === 'object' && 'text' in piece ? [...piece.text].map((text) => ({ text })) : [piece],
  )
}

function matchesName(part: Exclude<ComponentPattern, '**'>, name: string): boolean {
  if ('name' in part) return part.name === name
  return matchRun(
    part,
    [...name],
    (piece) => piece === '*',
    (piece, character) =>
      piece === '?' ||
      (typeof piece === 'object' && ('text' in piece ? piece.text === character : piece.set(character))),
  )
}

/**
 * Matches items against a pattern with repeating parts. Backtracks only to the last of these: an earlier one could not do
 * better.
 */
function matchRun<P, T>(
  pattern: readonly P[],
  things: readonly T[],
  isMany: (part: P) => boolean,
  fits: (part: P, thing: T) => boolean,
): boolean {
  let at = 0
  let part = 0
  let many: { part: number; at: number } | undefined
  while (at < things.length) {
    const next = pattern[part]
    if (part < pattern.length && isMany(next as P)) {
      many = { part, at }
      part++
    } else if (part < pattern.length && fits(next as P, things[at] as T)) {
      part++
      at++
    } else if (many) {
      part = many.part + 1
      many.at++
      at = many.at
    } else return false
  }
  while (part < pattern.length && isMany(pattern[part] as P)) part++
  return part === pattern.length
}

function readName(name: string): Piece[] | undefined {
  const pieces: Piece[] = []
  const characters = [...name]
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string
    if (character === '*') {
      if (pieces.at(-1) !== '*') pieces.push('*')
    } else if (character === '?') pieces.push('?')
    else if (character === '[') {
      const set = readSet(characters, at + 1)
      if (!set) return undefined
      pieces.push({ set: set.has })
      at = set.end
    } else {
      if (character === '\\') at++
      const literal = characters[at]
      if (literal === undefined) return undefined
      const last = pieces.at(-1)
      if (typeof last === 'object' && 'text' in last) last.text += literal
      else pieces.push({ text: literal })
    }
  }
  return pieces
}

const classes = new Map(
  Object.entries({
    alnum: /[A-Za-z0-9]/,
    alpha: /[A-Za-z]/,
    blank: /[ \t]/,
    digit: /[0-9]/,
    lower: /[a-z]/,
    punct: /[!-/:-@[-`{-~]/,
    space: /\s/,
    upper: /[A-Z]/,
    xdigit: /[0-9A-Fa-f]/,
  }),
)

/** Parses `[…]` after its opening bracket; a `]` in first position belongs to the set. */
function readSet(characters: string[], from: number): { has(character: string): boolean; end: number } | undefined {
  const isNegated = characters[from] === '!' || characters[from] === '^'
  const first = isNegated ? from + 1 : from
  const tests: ((character: string) => boolean)[] = []
  for (let at = first; at < characters.length; at++) {
    if (characters[at] === ']' && at > first)
      return { has: (character) => tests.some((test) => test(character)) !== isNegated, end: at }
    const classMatch = /^\[:(\w+):\]/.exec(characters.slice(at, at + 12).join(''))
    if (classMatch) {
      const known = classes.get(classMatch[1] as string)
      if (!known) return undefined
      tests.push((character) => known.test(character))
      at += classMatch[0].length - 1
      continue
    }
    if (characters[at] === '\\') at++
    const low = characters[at]
    if (low === undefined) return undefined
    if (characters[at + 1] === '-' && characters[at + 2] !== undefined && characters[at + 2] !== ']') {
      at += characters[at + 2] === '\\' ? 3 : 2
      const high = characters[at]
      if (high === undefined) return undefined
      tests.push((character) => low <= character && character <= high)
    } else tests.push((character) => character === low)
  }
  return undefined
}
