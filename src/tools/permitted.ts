import { matchesGlob, readGlob } from './glob.ts'

/** The tools that the owner lets agents have: without `allow` all, with an empty one none; what `deny` names is out. */
export function permitted(names: string[], { allow, deny }: { allow?: string[]; deny: string[] }): string[] {
  const isNamed = (name: string, patterns: string[]) =>
    patterns.some((pattern) => {
      const glob = readGlob(pattern)
      return glob !== undefined && matchesGlob(glob, [name])
    })
  return names.filter((name) => (allow === undefined || isNamed(name, allow)) && !isNamed(name, deny))
}
