import { Misuse } from '../domain/errors.ts'
import { parseReference } from '../domain/reference.ts'
import { printable } from './screen.ts'

const examples = { plan: 'plan:1; heddle plans lists them', task: 'task:3; heddle tasks lists them' }

/** The number of a plan or a task as a person wrote it: `task:3`, or 3 where nothing else can be meant. */
export function numberOf(name: string, wanted: keyof typeof examples): number {
  const { kind, id } = parseReference(name)
  if ((kind !== null && kind !== wanted) || !/^\d{1,15}$/.test(id))
    throw new Misuse(`"${printable(name)}" is no ${wanted}`, `write it as ${examples[wanted]}`, 'bad_reference')
  return Number(id)
}
