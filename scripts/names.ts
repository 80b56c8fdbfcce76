import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listOfNames, publicNames } from '../test/architecture/public-names.ts'
import { readTree } from '../test/architecture/tree.ts'

// Rewrites the list of public names after a deliberate change; the diff of that file is what a reviewer looks at.
const root = join(import.meta.dirname, '..')
writeFileSync(join(root, listOfNames), `${publicNames(readTree(root)).join('\n')}\n`)
