import { UsageError } from './errors.ts'

export const referenceKinds = [
  'turn',
  'run',
  'task',
  'plan',
  'result',
  'memory',
  'narrative',
  'approval',
  'session',
  'persona',
  'file',
] as const
export type ReferenceKind = (typeof referenceKinds)[number]

/** `kind:id`, or a bare word whose kind depends on the context. */
interface Reference {
  kind: ReferenceKind | null
  id: string
}

/** Parses `turn:4c1e`, `session:main`, `main`. A colon after an unknown kind belongs to the id. */
export function parseReference(text: string): Reference {
  const colon = text.indexOf(':')
  const kind = colon < 0 ? undefined : referenceKinds.find((known) => known === text.slice(0, colon))
  const id = kind ? text.slice(colon + 1) : text
  if (id === '')
    throw new UsageError(
      `"${text}" is not a reference`,
      'write a reference such as turn:4c1e or session:main',
      'bad_reference',
    )
  return { kind: kind ?? null, id }
}
