import type { Millis } from './clock.ts'
import { UsageError } from './errors.ts'
import { tail } from './id.ts'
import { parseReference } from './reference.ts'

/** A stable label in a folder that points at a head turn and moves as turns are added. */
export interface Session {
  id: string
  folder: string
  label: string
  /** The segment into which only this session writes its next turn. */
  segmentId: string
  headTurnId: string | null
  personaId: string | null
  updatedAt: Millis
  archivedAt: Millis | null
  /** Text form of the principal whose session it is. */
  principalId: string
}

const labelPattern = /^[\p{L}\p{N}@_][\p{L}\p{N}@_.:+-]{0,79}$/u

/** Whether it is an agent's own session: a subagent's, or the narrator's. */
export function isAgentSession(label: string): boolean {
  return /^agent:[^:]+:(?:subagent|session):/.test(label)
}

/** Short display name: agent and id suffix for an agent's own session, the label for any other. */
export function shortLabel(label: string): string {
  const [, agent, , id] = isAgentSession(label) ? label.split(':') : []
  return agent === undefined || id === undefined ? label : `@${agent} ${tail(id)}`
}

/** Refuses labels of narrator sessions, which only the runtime creates. */
export function checkUserLabel(label: string): string {
  if (narratedSessionId(label) !== undefined)
    throw new UsageError(`"${label}" is reserved for the narrator`, 'choose another label', 'bad_label')
  return label
}

/** Label of the narrator session of a user's session. */
export function narratorLabel(talkId: string): string {
  return `agent:narrator:session:${talkId}`
}

/** Id of the session that a narrator session summarises; undefined for other labels. */
export function narratedSessionId(label: string): string | undefined {
  return /^agent:narrator:session:(\w+)$/.exec(label)?.[1]
}

/** Refuses labels that could be mistaken for a reference, a flag or a path. */
export function checkLabel(label: string): string {
  const text = label.normalize('NFC')
  if (!labelPattern.test(text) || parseReference(text).kind !== null)
    throw new UsageError(
      `"${label}" cannot be a session's label`,
      'use 1 to 80 letters, digits and . _ : + - @, beginning with a letter or digit',
      'bad_label',
    )
  return text
}
