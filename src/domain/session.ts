import { ownerText } from './access/principal.ts'
import type { Millis } from './clock.ts'
import { UsageError } from './errors.ts'
import { shortId } from './id.ts'
import { parseReference } from './reference.ts'
import type { ThreadConfig } from './turn.ts'

/**
 * Who a session is for: a person talks in it, an agent works for another, the narrator summarises another session. A
 * label says nothing of it. A job's starts empty at each fire. `hook` has a reserved label already, and nothing starts such
 * sessions yet.
 */
export const sessionKinds = ['person', 'agent', 'narrator', 'cron', 'hook'] as const
export type SessionKind = (typeof sessionKinds)[number]

/** A stable label in a folder that points at a head turn and moves as turns are added. */
export interface Session extends ThreadConfig {
  id: string
  folder: string
  label: string
  kind: SessionKind
  /** The session that it summarises, for a narrator's. */
  narratesId: string | null
  /** The segment into which only this session writes its next turn. */
  segmentId: string
  headTurnId: string | null
  updatedAt: Millis
  archivedAt: Millis | null
  /** When its transcript was removed; from then on it takes no input. */
  removedAt: Millis | null
  /** Text form of the principal whose session it is. */
  principalId: string
}

const labelPattern = /^[\p{L}\p{N}@_][\p{L}\p{N}@_.:+-]{0,79}$/u

/** First words of labels that only the runtime gives out. */
const reservedWords: readonly string[] = ['agent', 'subagent', 'cron', 'hook', 'telegram', 'user', 'owner']

/** Whether a label or persona beginning with this word would look like one of the runtime's. */
export function isReservedWord(word: string): boolean {
  return reservedWords.includes(word.toLowerCase())
}

/** Whether only the runtime gives out such labels. */
export function isReservedLabel(label: string): boolean {
  return label.includes(':') && isReservedWord(label.slice(0, label.indexOf(':')))
}

/**
 * The stored label of a session that a principal names. Users have labels of their own, `user:mia:main`, so that the same
 * word names each one's own session; `owner:LABEL` names the owner's. Rights are never read out of it.
 */
export function labelFor(principal: string, label: string): string {
  if (principal === ownerText) return label
  if (label.startsWith(`${ownerText}:`)) return label.slice(ownerText.length + 1)
  return isReservedLabel(label) ? label : `${principal}:${label}`
}

/**
 * Refuses labels that only the runtime gives out. A user has a prefix, and no other labels: a session of the user's under a
 * plain label would be taken for the owner's, who would talk in it.
 */
export function checkLabelOf(principal: string, label: string): string {
  const own = `${principal}:`
  if (principal !== ownerText && label.startsWith(own)) {
    if (label.length === own.length) throw badLabel(label)
    return label
  }
  checkUserLabel(label)
  if (!principal.startsWith('user:')) return label
  throw new UsageError(
    `"${label}" cannot be the label of a session of ${principal}`,
    `use a label that begins with ${own}, such as ${own}${label}`,
    'bad_label',
  )
}

/** Whether a session of this principal could have this stored label. */
export function isLabelOf(principal: string, label: string): boolean {
  if (principal !== ownerText && label.startsWith(`${principal}:`)) return true
  return !principal.startsWith('user:') && !isReservedLabel(label)
}

/** Refuses labels that only the runtime gives out. */
export function checkUserLabel(label: string): string {
  if (isReservedLabel(label))
    throw new UsageError(
      `"${label}" cannot be chosen: labels that begin with ${label.slice(0, label.indexOf(':') + 1)} are Heddle's own`,
      `choose another label, such as ${unreservedLabel(label)}`,
      'bad_label',
    )
  return label
}

/** The nearest label that a person may choose. */
export function unreservedLabel(label: string): string {
  return isReservedLabel(label) ? label.replaceAll(':', '-') : label
}

/** Label of a subagent's session. */
export function subagentLabel(agent: string, runId: string): string {
  return `agent:${agent}:subagent:${runId}`
}

/** Label of the narrator session of a user's session. */
export function narratorLabel(talkId: string): string {
  return `agent:narrator:session:${talkId}`
}

/** Short display name: agent and id suffix where the label was made of them, any other label as it is. */
export function shortLabel(label: string): string {
  const [, agent, id] = /^agent:([^:]+):(?:subagent|session):([^:]+)/.exec(label) ?? []
  return agent === undefined || id === undefined ? label : `@${agent} ${shortId(id)}`
}

/** Refuses labels that could be mistaken for a reference, a flag or a path. */
export function checkLabel(label: string): string {
  const text = label.normalize('NFC')
  if (!labelPattern.test(text) || parseReference(text).kind !== null) throw badLabel(label)
  return text
}

function badLabel(label: string): UsageError {
  return new UsageError(
    `"${label}" cannot be a session's label`,
    'use 1 to 80 letters, digits and . _ : + - @, beginning with a letter or digit',
    'bad_label',
  )
}
