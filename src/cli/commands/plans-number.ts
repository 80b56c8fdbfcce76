import { UsageError } from '../../domain/errors.ts'
import { parseReference } from '../../domain/reference.ts'
import { printable } from '../terminal/screen.ts'

const examples = { plan: 'plan:1; heddle plans lists them', task: 'task:3; heddle tasks lists them' }

/** Parses the number of a plan or task: `task:3`, or just `3`. */
export function numberOf(name: string, wanted: keyof typeof examples): number {
  const { kind, id } = parseReference(name)
  if ((kind !== null && kind !== wanted) || !/^\d{1,15}$/.test(id))
    throw new UsageError(`"${printable(name)}" is not a ${wanted}`, `write it as ${examples[wanted]}`, 'bad_reference')
  return Number(id)
}
