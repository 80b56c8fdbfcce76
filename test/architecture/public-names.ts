import { factsOf } from './facts.ts'
import type { SourceFile } from './tree.ts'

/** Where the public names are checked in. */
export const listOfNames = 'test/public-names.txt'

const doors = { index: 'src/index.ts', testing: 'src/testing.ts' }

/** What a user of the package can import, one line for each name, sorted. */
export function publicNames(files: readonly SourceFile[]): string[] {
  return Object.entries(doors).flatMap(([door, path]) => {
    const file = files.find((candidate) => candidate.path === path)
    if (file === undefined) return []
    return [...new Set(factsOf(file).exports)].sort().map((name) => `${door}: ${name}`)
  })
}
