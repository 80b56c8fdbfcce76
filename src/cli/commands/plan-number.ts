import { UsageError } from '../../domain/errors.ts'
import { parseReference } from '../../domain/reference.ts'
import { printable } from '../terminal/screen.ts'

const examples = {
  plan: 'plan:1; heddle plans lists them',
  task: 'task:3; heddle tasks lists them',
  job: '3; heddle cron lists them',
  message: '3; heddle cron outbox lists them',
}

/** Parses the number of a plan, task, job or message: `task:3`, or just `3`. */
export function numberOf(name: string, wanted: keyof typeof examples): number {
  const own = `${wanted}:`
  const { kind, id } = parseReference(name.startsWith(own) && name !== own ? name.slice(own.length) : name)
  if ((kind !== null && kind !== wanted) || !/^\d{1,15}$/.test(id))
    throw new UsageError(`"${printable(name)}" is not a ${wanted}`, `write it as ${examples[wanted]}`, 'bad_reference')
  return Number(id)
}
