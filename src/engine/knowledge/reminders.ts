import { isUntrusted, joinLabels, type Label } from '../../domain/label.ts'
import { savedDay } from '../../domain/memory.ts'
import type { Session } from '../../domain/session.ts'
import { excerptOf } from '../../domain/text/excerpt.ts'
import { passageLine } from '../../domain/text/passage.ts'
import { userPart } from '../../domain/text/question.ts'
import { spellingsIn } from '../../domain/text/words.ts'
import { type RecalledMemory, recall, recallTrusted } from '../../memory/recall.ts'
import { type RecalledPassage, recallPassages } from '../../memory/recall-passages.ts'
import { dropWeakMatches, selectReminders } from '../../memory/select-reminders.ts'
import { hasKnowledge } from '../../store/knowledge/home-files.ts'
import { type MemoryRecall, recordMemoryRecalls } from '../../store/knowledge/memory-recalls.ts'
import { recordNarrativeRecall } from '../../store/knowledge/narratives.ts'
import { type PassageRecall, recordPassageRecalls } from '../../store/knowledge/passage-recalls.ts'
import type { Reading } from '../../store/store.ts'
import type { ClaimedRun } from '../run/claimed-run.ts'
import type { RunNotes } from '../run/moments.ts'
import type { Engine } from '../runtime.ts'
import {
  type CurrentNarrative,
  labelOfNarrative,
  latestCurrentNarrative,
  narrativeText,
  untrustedNotice,
} from './current-narrative.ts'

/** Max memories that are considered. */
const maxRecalled = 30
const maxPassages = 3
/** Max matching passages that are checked for not being in the prompt already. */
const maxPassagesChecked = 50
/** Max characters of a memory or a passage. */
const maxLength = 500

/** Memories, passages and narrative that a run is given; the same for the whole claim. */
interface Reminders {
  recalled: RecalledMemory[]
  /** Passages of files in the home that are not in the prompt already. */
  passages: RecalledPassage[]
  /** Latest narrative of the folder; only for the first turn of a session. */
  current: CurrentNarrative | undefined
}

const none: Reminders = { recalled: [], passages: [], current: undefined }

/**
 * Notes for a run that talks with a user: memories and passages that fit, and where the work stands. A run that has seen
 * only trusted content (`label`) is shown no other: it can ask for that.
 */
export async function notesFor(engine: Engine, claimed: ClaimedRun, prompt: string, label: Label): Promise<RunNotes> {
  const reminders = await remindersFor(engine, claimed, prompt, !isUntrusted(label))
  return {
    text: reminderNote(reminders),
    label: labelOfReminders(reminders),
    async record(tx, runId, now) {
      await recordMemoryRecalls(tx, runId, recalledMemoriesIn(reminders), now)
      await recordPassageRecalls(tx, runId, recalledPassagesIn(reminders))
      if (reminders.current) await recordNarrativeRecall(tx, runId, reminders.current.narrative.id)
    },
  }
}

/** A run that works for another run has its brief instead. */
async function remindersFor(
  engine: Engine,
  claimed: ClaimedRun,
  prompt: string,
  trustedOnly: boolean,
): Promise<Reminders> {
  const { run, session, items, actor } = claimed
  const { kind } = actor.role
  if (!actor.access.isPrivate) return none
  if (!engine.memory.recall || run.parentRunId !== null || (kind !== 'coordinator' && kind !== 'general')) return none
  const inputs = items.filter((item) => item.kind === 'message' || item.kind === 'trigger')
  const question = inputs.map(({ content }) => content).join('\n\n')
  const search = trustedOnly ? recallTrusted : recall
  const semantic = await engine.semanticIndex?.search(userPart(question))
  const reminders = await engine.store.read(async (rows) => {
    const { files, home = '' } = engine.memory
    const has = await hasKnowledge(rows, home)
    return {
      recalled: has.memories
        ? selectReminders(await search(rows, question, engine.clock.now(), maxRecalled, semantic))
        : [],
      passages: files && has.passages ? await passagesNotIn(rows, engine, question, prompt) : [],
      current: isNewTalk(session) ? await latestCurrentNarrative(rows, session.folder, { trustedOnly }) : undefined,
    }
  })
  const { recalled, passages, current } = reminders
  const isEmpty = recalled.length + passages.length === 0 && !current
  return isEmpty ? none : (engine.markSecrets?.(reminders) ?? reminders)
}

/** A job's own session continues none: what other sessions were told of earlier fires would be in every fire. */
function isNewTalk({ headTurnId, kind }: Session): boolean {
  return headTurnId === null && kind !== 'cron'
}

/** Matching passages that are not in the prompt: prompt files are indexed, too. */
async function passagesNotIn(
  rows: Reading,
  { clock, markSecrets = (value) => value, memory: { home = '' } }: Engine,
  question: string,
  prompt: string,
): Promise<RecalledPassage[]> {
  const found = await recallPassages(rows, question, { home, now: clock.now(), limit: maxPassagesChecked })
  const fitting = dropWeakMatches(found).filter(matchesItself)
  if (fitting.length === 0) return []
  const promptLine = collapseSpaces(prompt)
  // The prompt has the names of secrets.
  const isInPrompt = ({ passage }: RecalledPassage) => promptLine.includes(collapseSpaces(markSecrets(passage.text)))
  return fitting.filter((each) => !isInPrompt(each)).slice(0, maxPassages)
}

/** Whether the passage itself has a matching word: a matching heading alone finds everything below it. */
function matchesItself({ passage, words }: RecalledPassage): boolean {
  const own = new Set(spellingsIn(passage.text))
  return words.some((word) => own.has(word))
}

/**
 * Reminders as text for the model. They go behind all messages, so that the provider's prompt cache stays valid.
 */
function reminderNote({ recalled, passages, current }: Reminders): string | undefined {
  const parts = [
    ...(current ? [`[previous session summary, narrative:${current.narrative.id}] ${narrativeText(current)}`] : []),
    ...(recalled.length > 0
      ? [
          `[memories that may be relevant, of similar ones the newest first; cite as [id:N]]\n${recalled.map(reminder).join('\n')}`,
        ]
      : []),
    ...(passages.length > 0
      ? [`[notes of the user that may be relevant; cite as [path:line]]\n${passages.map(passageReminder).join('\n')}`]
      : []),
  ]
  return parts.length === 0 ? undefined : parts.join('\n')
}

/** Label of the reminders. Passages are trusted: the owner wrote them, and no tool writes to the home. */
function labelOfReminders({ recalled, current }: Reminders): Label {
  return joinLabels([...recalled.map(({ memory }) => memory.label), ...(current ? [labelOfNarrative(current)] : [])])
}

/** RecalledMemory memories to store with the turn. */
function recalledMemoriesIn({ recalled }: Reminders): MemoryRecall[] {
  return recalled.map(({ memory, rank, words }) => ({ memoryId: memory.id, rank, words }))
}

/** RecalledMemory passages to store with the turn. */
function recalledPassagesIn({ passages }: Reminders): PassageRecall[] {
  return passages.map(({ passage: { id, path, line }, rank, words }) => ({ passageId: id, path, line, rank, words }))
}

function reminder({ memory, words }: RecalledMemory): string {
  const { id, content, label } = memory
  const notice = isUntrusted(label) ? ` ${untrustedNotice}` : ''
  return `[id:${id}] ${matchingPart(content, words)} (saved ${savedDay(memory)})${notice}`
}

function passageReminder({ passage, words }: RecalledPassage): string {
  return `[${passage.path}:${passage.line}] ${matchingPart(passageLine(passage), words)}`
}

/** A text on one line; of a long one the part that has the words of the question. */
function matchingPart(text: string, words: readonly string[]): string {
  return text.length > maxLength ? excerptOf(text, words, maxLength).passage : text.replaceAll('\n', ' ')
}

function collapseSpaces(text: string): string {
  return text.replace(/\s+/g, ' ')
}
