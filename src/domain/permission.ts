import { toolNamed } from './tool-names.ts'

/** Names that may be used and names that may not; `*` stands for any letters. */
export interface NameLists {
  allow?: readonly string[]
  deny?: readonly string[]
}

/** Whether the lists let a name be used: a denial wins, and no `allow` means everything. */
export function isAllowed(name: string, { allow, deny = [] }: NameLists): boolean {
  return !isNamed(name, deny) && (allow === undefined || isNamed(name, allow))
}

/** Whether a tool is one of these, however they are spelled: `Bash` is `exec`. */
export function isNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(pattern.includes('*') ? pattern : (toolNamed(pattern) ?? pattern), name))
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
