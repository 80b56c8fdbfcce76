/** Kind of a line in a diff. */
export type LineKind = 'head' | 'added' | 'removed' | 'same'

const hunkForm = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/

/**
 * Kinds of the lines of a diff; all `same` in any other text. What a hunk says of its length decides where it ends: a line
 * that was added and begins with `++` is no heading.
 */
export function kindsOf(lines: readonly string[]): LineKind[] {
  const isDiff = lines.some((line) => hunkForm.test(line))
  let [before, after] = [0, 0]
  return lines.map((line) => {
    if (before > 0 || after > 0) {
      if (line.startsWith('\\')) return 'head'
      if (!line.startsWith('+')) before--
      if (!line.startsWith('-')) after--
      return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
    }
    const hunk = hunkForm.exec(line)
    if (hunk) [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)]
    return isDiff ? 'head' : 'same'
  })
}
