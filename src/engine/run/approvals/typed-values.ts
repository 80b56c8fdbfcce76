import { isUntrusted, type Label } from '../../../domain/label.ts'
import type { Source } from '../../../domain/message.ts'
import { itemsOfRun } from '../../../store/rows/inbox.ts'
import { findRun } from '../../../store/rows/runs.ts'
import { findHeadThread, readMessagesOnPath } from '../../../store/rows/threads.ts'
import type { Reading } from '../../../store/store.ts'
import { contextDepth } from '../../turns/history.ts'
import type { ActiveRun } from '../active-run.ts'

/** A message, as far as it matters whether a trusted person typed it. */
interface Typed {
  content: string
  source?: Source
  label?: Label
}

/**
 * What trusted people typed in this conversation and in that of the request, without attached files. Reads the rows again
 * only for a child: its own input was written by an agent.
 */
export async function typedTexts({ engine, claimed, context, journal }: ActiveRun): Promise<string[]> {
  const { id, rootRunId } = claimed.run
  const own = [...context.path.flatMap(({ queryMessages }) => queryMessages), ...context.inputs, ...journal.steering]
  const others = id === rootRunId ? [] : await engine.store.read((rows) => messagesOfRequest(rows, rootRunId))
  return [...own, ...others].filter(isFromTrustedPerson).map(({ content }) => content)
}

/** Messages of the conversation that a request belongs to, and its own. */
async function messagesOfRequest(rows: Reading, rootRunId: string): Promise<Typed[]> {
  const root = await findRun(rows, rootRunId)
  const head = root?.sessionId ? await findHeadThread(rows, root.sessionId) : undefined
  const path = head ? await readMessagesOnPath(rows, head, await contextDepth(rows, head)) : []
  return [...path.flatMap(({ queryMessages }) => queryMessages), ...(await itemsOfRun(rows, rootRunId))]
}

function isFromTrustedPerson({ source, label }: Typed): boolean {
  return source === 'human' && !(label && isUntrusted(label))
}

/**
 * Whether one of the texts has this value as a word of its own. Addresses are compared without scheme and fragment, and
 * otherwise whole: a longer path or query could carry what the run has read.
 */
export function isTyped(value: string, texts: readonly string[]): boolean {
  const wanted = canonical(value)
  return texts.some((text) => typedWords(text).some((word) => canonical(word) === wanted))
}

function typedWords(text: string): string[] {
  const bySpace = text.split(/\s+/)
  const byBracket = text.split(/[\s<>()[\]{}"'`|]+/)
  return [...new Set([...bySpace, ...byBracket].flatMap((word) => [word, word.replace(/[.,;:!?]+$/, '')]))]
}

const address = /^(?:https?:\/\/|[\w-]+(?:\.[\w-]+)+(?:[/:?]|$))/i

function canonical(value: string): string {
  if (!address.test(value)) return value
  const url = URL.parse(/^https?:\/\//i.test(value) ? value : `https://${value}`)
  return url ? `//${url.host}${url.pathname}${url.search}` : value
}
