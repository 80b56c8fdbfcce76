import type { Millis } from '../domain/clock.ts'
import { isUntrusted, joinLabels, type Label } from '../domain/label.ts'
import { passageLine } from '../domain/passage.ts'
import { wordsIn } from '../domain/words.ts'
import { type Recalled, recall } from '../memory/recall.ts'
import { type RecalledPassage, recallPassages } from '../memory/recall-passages.ts'
import type { Shown } from '../store/memory-recalls.ts'
import type { ShownPassage } from '../store/passage-recalls.ts'
import type { Reading } from '../store/store.ts'
import type { Claimed } from './claim.ts'
import { roleOf } from './role.ts'
import { labelOfStanding, type Standing, standingIn, standingText, strangeness } from './standing.ts'
import type { Engine } from './world.ts'

/** Of what a person said, for looking. */
const longestQuestion = 4000
const mostShown = 5
const mostPassages = 3
/** Of the passages that fit, so many are looked at for some that the prompt does not have. */
const passagesLookedAt = 50
/** What shares less than this with the question is chance. */
const leastRelevance = 0.2
const longestShown = 500

/** What a run is reminded of before it begins: the same for the whole of a claim. */
export interface Reminders {
  recalled: Recalled[]
  /** Of files in the home, what the prompt does not say anyway. */
  passages: RecalledPassage[]
  /** Where the work in this folder stood; for the first turn of a session. */
  standing: Standing | undefined
}

const none: Reminders = { recalled: [], passages: [], standing: undefined }

/** Whoever talks with a person is reminded of what fits; whoever works for another has its brief. */
export async function remindersFor(
  engine: Engine,
  { run, session, items }: Claimed,
  prompt: string,
): Promise<Reminders> {
  const { kind } = roleOf(engine, run, session.folder)
  if (!engine.memory.recall || run.parentRunId !== null || (kind !== 'coordinator' && kind !== 'general')) return none
  const said = items.filter((item) => item.kind === 'message' || item.kind === 'trigger')
  const question = said
    .map(({ content }) => content)
    .join('\n')
    .slice(0, longestQuestion)
  const meant = await engine.meaning?.of(question)
  return engine.store.read(async (rows) => ({
    recalled: (await recall(rows, question, engine.clock.now(), mostShown, meant)).filter(
      ({ relevance }) => relevance >= leastRelevance,
    ),
    passages: engine.memory.files ? await unsaid(rows, question, engine.clock.now(), prompt) : [],
    standing: session.headTurnId === null ? await standingIn(rows, session.folder) : undefined,
  }))
}

/** Passages that fit and are not in the prompt: the files that agents read before they answer mostly are. */
async function unsaid(rows: Reading, question: string, now: Millis, prompt: string): Promise<RecalledPassage[]> {
  const found = await recallPassages(rows, question, now, passagesLookedAt)
  const fitting = found.filter((each) => each.relevance >= leastRelevance && saysSo(each))
  if (fitting.length === 0) return []
  const told = oneLine(prompt)
  return fitting.filter(({ passage }) => !told.includes(oneLine(passage.text))).slice(0, mostPassages)
}

/** A heading leads to all that stands under it; what is to remind must say something of it itself. */
function saysSo({ passage, words }: RecalledPassage): boolean {
  const own = new Set(wordsIn(passage.text))
  return words.some((word) => own.has(word))
}

/**
 * Reminders as a model is given them: behind everything else, so that what it was told before stays the same byte for
 * byte.
 */
export function reminderNote({ recalled, passages, standing }: Reminders): string | undefined {
  const parts = [
    ...(standing ? [`[where things stood, narrative:${standing.narrative.id}] ${standingText(standing)}`] : []),
    ...(recalled.length > 0
      ? [`[what you know that may matter; cite as [id:N]]\n${recalled.map(reminder).join('\n')}`]
      : []),
    ...(passages.length > 0
      ? [
          `[what the person wrote down that may matter; cite as [path:line]]\n${passages.map(passageReminder).join('\n')}`,
        ]
      : []),
  ]
  return parts.length === 0 ? undefined : parts.join('\n')
}

/** Of everything in them; what the owner wrote into the home, where no tool writes, is trusted. */
export function labelOfReminders({ recalled, standing }: Reminders): Label {
  return joinLabels([...recalled.map(({ memory }) => memory.label), ...(standing ? [labelOfStanding(standing)] : [])])
}

/** What is noted with the turn. */
export function shownOf({ recalled }: Reminders): Shown[] {
  return recalled.map(({ memory, rank, words }) => ({ memoryId: memory.id, rank, words }))
}

/** Likewise, of files. */
export function passagesShownIn({ passages }: Reminders): ShownPassage[] {
  return passages.map(({ passage: { id, path, line }, rank, words }) => ({ passageId: id, path, line, rank, words }))
}

function reminder({ memory }: Recalled): string {
  const { id, content, label } = memory
  return `[id:${id}] ${shortened(content)}${isUntrusted(label) ? ` ${strangeness}` : ''}`
}

function passageReminder({ passage }: RecalledPassage): string {
  return `[${passage.path}:${passage.line}] ${shortened(passageLine(passage))}`
}

function shortened(text: string): string {
  const short = text.length > longestShown ? `${text.slice(0, longestShown).toWellFormed()}…` : text
  return short.replaceAll('\n', ' ')
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
