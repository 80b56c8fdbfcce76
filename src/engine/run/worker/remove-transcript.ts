import { hash } from 'node:crypto'
import type { Message } from '../../../domain/message.ts'
import type { Step } from '../../../domain/run.ts'
import type { Session } from '../../../domain/session.ts'
import { isTombstone, tombstoneOf } from '../../../domain/text/tombstone.ts'
import { turnText, turnWords } from '../../../domain/text/turn-text.ts'
import { itemsOfRun } from '../../../store/rows/inbox.ts'
import { removeTurnDocuments } from '../../../store/rows/search/documents.ts'
import { readSteps } from '../../../store/rows/steps.ts'
import {
  readTexts,
  replaceInput,
  replacePrompt,
  replaceStep,
  replaceTexts,
} from '../../../store/rows/subagents/transcripts.ts'
import { promptText } from '../../../store/rows/turns.ts'
import type { Tx } from '../../../store/store.ts'
import type { BegunStep, CompactStep, EndedStep, ReplyStep, SteerStep } from '../context/journal.ts'

/**
 * Replaces everything that was said in a session by tombstones with the hash of each text. Runs, results, usage, changed
 * files and the shape of turns and steps stay, so that `why`, `log`, export and backup work as before.
 */
export async function removeTranscript(tx: Tx, { id, segmentId }: Pick<Session, 'id' | 'segmentId'>): Promise<void> {
  const turns = await readTexts(tx, segmentId)
  const words = new Map(turns.map(({ id, query, response }) => [id, turnWords(turnText(query, response))]))
  await removeTurnDocuments(tx, id, words)
  for (const turn of turns) {
    await replaceTexts(tx, {
      id: turn.id,
      query: turn.query.map(withoutText),
      response: withoutText(turn.response),
    })
    for (const item of await itemsOfRun(tx, turn.runId)) await replaceInput(tx, item, tombstone(item.content))
    for (const step of await readSteps(tx, turn.runId)) await replaceStep(tx, withoutTexts(step))
    const prompt = turn.ownPrompt === null ? undefined : await promptText(tx, turn.ownPrompt)
    if (turn.ownPrompt !== null && prompt !== undefined) await replacePrompt(tx, turn.ownPrompt, tombstone(prompt))
  }
}

/** What stands in the place of a removed text; a tombstone stays as it is. */
function tombstone(text: string): string {
  return isTombstone(text) ? text : tombstoneOf(text.length, hash('sha256', text))
}

function withoutText({ parts: _, ...message }: Message): Message {
  return { ...message, content: tombstone(message.content) }
}

/** A step without what was said or passed in it. Files that a call saw and changed stay: they are provenance. */
function withoutTexts(step: Step): Step {
  return { ...step, payload: payloadOf(step) }
}

function payloadOf({ kind, payload }: Step): unknown {
  switch (kind) {
    case 'reply': {
      const { metadata: _, ...reply } = payload as ReplyStep
      const calls = reply.calls.map((call) => ({ ...call, input: removedInput(call.input) }))
      return { ...reply, text: tombstone(reply.text), calls }
    }
    case 'begun': {
      const begun = payload as BegunStep
      return { ...begun, input: removedInput(begun.input) }
    }
    case 'ended': {
      const ended = payload as EndedStep
      const { output } = ended
      return { ...ended, output: tombstone(typeof output === 'string' ? output : JSON.stringify(output ?? null)) }
    }
    case 'steer': {
      const { items } = payload as SteerStep
      return { items: items.map(({ parts: _, ...item }) => ({ ...item, content: tombstone(item.content) })) }
    }
    case 'compact': {
      const compact = payload as CompactStep
      return { ...compact, summary: tombstone(compact.summary) }
    }
  }
}

function removedInput(input: unknown): { removed: string } {
  const before = (input as { removed?: unknown } | null)?.removed
  if (typeof before === 'string' && isTombstone(before)) return { removed: before }
  return { removed: tombstone(JSON.stringify(input ?? null)) }
}
