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

/** Whether agents have it to themselves: one works there for another, or tells where a talk stands. */
export function isOfAgents(label: string): boolean {
  return /^agent:[^:]+:(?:subagent|session):/.test(label)
}

/** A label that a person may give: sessions in which talks are told of are made by the runtime alone. */
export function labelOfPeople(label: string): string {
  if (talkOf(label) !== undefined)
    throw new Misuse(`"${label}" is a name for the narrator's own`, 'choose another label', 'bad_label')
  return label
}

/** The session in which it is told where a talk stands. */
export function tellingLabel(talkId: string): string {
  return `agent:narrator:session:${talkId}`
}

/** The session that is told of in the one with this label. */
export function talkOf(label: string): string | undefined {
  return /^agent:narrator:session:(\w+)$/.exec(label)?.[1]
}

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
