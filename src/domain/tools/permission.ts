import { canonicalToolName } from './tool-names.ts'

/** Allowed and denied names; `*` matches any characters. */
export interface NameLists {
  allow?: readonly string[]
  deny?: readonly string[]
}

/** Whether the lists allow a name: a denial wins, and no `allow` means everything. */
export function isAllowed(name: string, { allow, deny = [] }: NameLists): boolean {
  return !matchesToolPattern(name, deny) && (allow === undefined || matchesToolPattern(name, allow))
}

/** Whether a tool matches one of the patterns, in any spelling: `Bash` is `exec`. */
export function matchesToolPattern(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    matches(pattern.includes('*') ? pattern : (canonicalToolName(pattern) ?? pattern), name),
  )
}

function matches(pattern: string, name: string): boolean {
  if (!pattern.includes('*')) return pattern === name
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop() ?? ''
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let from = first.length
  for (const part of rest) {
    const at = name.indexOf(part, from)
    if (at === -1 || at + part.length > name.length - last.length) return false
    from = at + part.length
  }
  return true
}
