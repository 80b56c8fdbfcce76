import type { Millis } from './clock.ts'
import { Misuse } from './errors.ts'
import { parseReference } from './reference.ts'

/** A stable label in a folder that points at a head turn and moves as turns are added. */
export interface Session {
  id: string
  folder: string
  label: string
  /** The segment into which this session, and no other, writes its next turn. */
  segmentId: string
  headTurnId: string | null
  personaId: string | null
  updatedAt: Millis
  archivedAt: Millis | null
}

const labelPattern = /^[\p{L}\p{N}@_][\p{L}\p{N}@_.:+-]{0,79}$/u

/** Refuses labels that could be mistaken for a reference, a flag or a path. */
export function checkLabel(label: string): string {
  const text = label.normalize('NFC')
  if (!labelPattern.test(text) || parseReference(text).kind !== null)
    throw new Misuse(
      `"${label}" cannot be a session's label`,
      'use 1 to 80 letters, digits and . _ : + - @, beginning with a letter or digit',
      'bad_label',
    )
  return text
}
