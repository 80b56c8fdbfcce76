import { join } from 'node:path'
import { mixed } from '../crash/places.ts'
import { agents } from './agents.ts'
import { commands } from './commands.ts'
import { config } from './config.ts'
import { fields } from './fields.ts'
import { git } from './git.ts'
import { grants } from './grants.ts'
import { type ArenaKind, arenaKinds, type Program } from './ground.ts'
import { links } from './links.ts'
import { paths } from './paths.ts'
import { questions } from './questions.ts'
import { sockets } from './sockets.ts'
import type { AttackClass } from './try.ts'

/** Every class of attacks, in the order in which they are made. */
export const attackClasses: readonly AttackClass[] = [
  ...[paths, links, commands, git, sockets, config, agents, fields, grants, questions],
]

/** The program as it is in a checkout. */
export function checkoutProgram(): Program {
  const root = join(import.meta.dirname, '../..')
  return { file: join(root, 'bin/heddle'), root, modules: join(root, 'node_modules'), isInstalled: false }
}

/** The program as it is where it was installed; `root` is its package, beside its dependencies. */
export function installedProgram(root: string): Program {
  return { file: join(root, 'bin/heddle'), root, modules: join(root, '..'), isInstalled: true }
}

/** Numbers of a few tries of a class, of those that share requests and of the others, spread over its table. */
export function sampleOf(
  { tries }: AttackClass,
  shared: number,
  alone: number,
  arenas: readonly ArenaKind[] = arenaKinds,
): number[] {
  const numbers = tries.flatMap(({ arena }, at) => (arenas.includes(arena) ? [at + 1] : []))
  const isShared = (number: number) => tries[number - 1]?.isShared === true
  const some = (list: number[], most: number) => mixed(list).slice(0, most)
  const chosen = [
    ...some(numbers.filter(isShared), shared),
    ...some(
      numbers.filter((each) => !isShared(each)),
      alone,
    ),
  ]
  // In the order of the table, so that what can share a request stands together.
  return chosen.sort((a, b) => a - b)
}
