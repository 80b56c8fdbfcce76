import { intersectCeilings } from '../../domain/access/ceiling.ts'
import { isUntrusted, joinLabels, type Label } from '../../domain/label.ts'
import type { Message } from '../../domain/message.ts'
import type { Session } from '../../domain/session.ts'
import { distinctiveWords } from '../../domain/text/question.ts'
import { contentWords } from '../../domain/text/words.ts'
import type { PlacedTurn, Thread, Turn } from '../../domain/turn.ts'
import { tasksOfRequests } from '../../store/knowledge/narrative-tasks.ts'
import { latestOfSession, type Narrative } from '../../store/knowledge/narratives.ts'
import { memoriesBehind, memoriesInContext } from '../../store/knowledge/seen-memories.ts'
import { isUnanswered, itemsOfRun } from '../../store/rows/inbox.ts'
import { hasUnfinished } from '../../store/rows/requests.ts'
import { ceilingsOfRuns } from '../../store/rows/run-lists.ts'
import { findRun, liveRunOf } from '../../store/rows/runs.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import { findHeadThread, findThread, findTurn, readPath, turnOnPath } from '../../store/rows/threads.ts'
import type { Reading } from '../../store/store.ts'
import {
  type CurrentNarrative,
  currentNarrativeOf,
  labelOfNarrative,
  latestCurrentNarrative,
  narrativeText,
} from './current-narrative.ts'

/** Limits of the narrator's input: the last turns, the beginning of each message. */
const maxTurns = 20
const maxMessage = 1500
const maxText = 12_000
/** Min words that the last narrative lacks, for a session's first narrative and for later ones. */
const minWordsFirst = 12
const minWordsLater = 60

/** Max turns with something forgotten that later turns are compared with, the last ones. */
const maxExcluded = 50

/** Turns of a session since its last narrative. */
export interface News {
  /** The last of these turns. */
  turnId: string
  before: CurrentNarrative | undefined
  /** Input of the narrator. */
  text: string
  label: Label
  /** Memories these turns are based on, besides those the narrative will cite. */
  memoryIds: number[]
  /** Tasks of the plans that these turns carry out. */
  taskIds: number[]
  /** Models that each of these turns could use: no other one reads them. Undefined if nothing limits them. */
  models: readonly string[] | undefined
}

interface NewsOptions {
  /** Skips a session whose last narration was too slow. */
  inHaste?: boolean
  /** Marks secrets in what is sent to the narrator. */
  markSecrets?(text: string): string
}

/**
 * Finds what is new in a session, judged by its words alone: a greeting is no news. `busy` while its last request still
 * runs; its whole outcome is narrated at once.
 */
export async function findNews(
  rows: Reading,
  session: Session,
  { inHaste = false, markSecrets = (text) => text }: NewsOptions = {},
): Promise<News | 'busy' | undefined> {
  const head = session.headTurnId === null ? undefined : await findThread(rows, session.headTurnId)
  if (!head) return undefined
  const path = await readPath(rows, head, Math.max(1, head.depth - maxTurns + 1))
  const run = await findRun(rows, path.at(-1)?.turn.runId ?? '')
  // Hand-made and imported turns are not work in progress.
  if (!run || run.kind === 'import') return undefined
  if (await isUnderWay(rows, session, run.rootRunId)) return 'busy'
  // The request may have ended after the session was read: all of it is narrated at once.
  const now = await findHeadThread(rows, session.id)
  if (now && now.turnId !== head.turnId)
    return findNews(rows, { ...session, headTurnId: now.turnId }, { inHaste, markSecrets })
  const latest = await latestOfSession(rows, session.id)
  const { turnId: narratedTurn, wasSlow } = await lastNarration(rows, session)
  // A short-lived process does not retry what took too long.
  if (inHaste && wasSlow) return undefined
  const own = latest && (await currentNarrativeOf(rows, latest))
  const turns = turnsAfter(path, latest, narratedTurn)
  const { since, memoryIds } = await withoutForgotten(rows, { head, path, turns, latest: own?.narrative })
  if (!since.some(({ turn }) => turn.status === 'completed')) return undefined
  const newLabel = joinLabels(since.map(({ turn }) => turn.label))
  const before = await narrativeBefore(rows, session, own, { trustedOnly: !isUntrusted(newLabel) })
  const inherited = own && own !== before ? await memoriesBehind(rows, own.narrative.id) : []
  const text = renderTurns(since, markSecrets)
  const known = contentWords(before?.narrative.summary ?? '')
  const newWords = [...contentWords(text)].filter((word) => !known.has(word)).length
  if (newWords < (latest || narratedTurn ? minWordsLater : minWordsFirst)) return undefined
  const runIds = since.map(({ turn }) => turn.runId)
  return {
    turnId: head.turnId,
    before,
    text: [
      `## Previous summary\n${before ? narrativeText(before) : '(none)'}`,
      `## New in session "${session.label}"\n${text}`,
    ].join('\n\n'),
    memoryIds: [...new Set([...memoryIds, ...inherited])],
    taskIds: await tasksOfRequests(rows, runIds),
    models: intersectCeilings(...(await ceilingsOfRuns(rows, runIds))).models,
    label: joinLabels([newLabel, ...(before ? [labelOfNarrative(before)] : [])]),
  }
}

/**
 * The narrative that a new one continues: the session's latest, or the folder's. Trusted turns continue a trusted one, so
 * that one web page does not make every later narrative of the folder untrusted.
 */
async function narrativeBefore(
  rows: Reading,
  { folder }: Session,
  own: CurrentNarrative | undefined,
  { trustedOnly }: { trustedOnly: boolean },
): Promise<CurrentNarrative | undefined> {
  if (own && !(trustedOnly && isUntrusted(labelOfNarrative(own)))) return own
  return latestCurrentNarrative(rows, folder, { trustedOnly })
}

async function isUnderWay(rows: Reading, session: Session, rootRunId: string): Promise<boolean> {
  return (
    (await liveRunOf(rows, session.id)) !== undefined ||
    (await hasUnfinished(rows, rootRunId)) ||
    (await isUnanswered(rows, rootRunId))
  )
}

/** The last turn the narrator was given, even if it found nothing worth noting; and whether it ran out of time. */
async function lastNarration(
  rows: Reading,
  { id }: Session,
): Promise<{ turnId: string | undefined; wasSlow: boolean }> {
  const [narration] = await findSessions(rows, { narratesId: id })
  const last = narration?.headTurnId ? await findTurn(rows, narration.headTurnId) : undefined
  const status = last?.turn.status
  if (!last || status !== 'completed')
    return { turnId: undefined, wasSlow: status === 'cancelled' || status === 'timeout' }
  const request = (await itemsOfRun(rows, last.turn.runId)).findLast(({ tells }) => tells)?.tells
  return { turnId: request?.turnId, wasSlow: false }
}

/** Turns after the last that was narrated, given to the narrator, or in which an agent wrote the narrative itself. */
function turnsAfter(path: PlacedTurn[], latest: Narrative | undefined, narratedTurn: string | undefined): PlacedTurn[] {
  const isNarrated = ({ turn }: PlacedTurn) =>
    turn.id === narratedTurn ||
    (latest && (turn.id === latest.turnId || (latest.turnId === null && turn.runId === latest.runId)))
  return path.slice(path.findLastIndex(isNarrated) + 1).filter(({ turn }) => turn.type === 'normal')
}

/** Turns that may be narrated, and the memories that their words may repeat. */
interface NarratableTurns {
  since: PlacedTurn[]
  memoryIds: number[]
}

/**
 * Leaves out turns that used a memory forgotten since, and later ones of the session that share words with such a turn: they
 * may repeat it. `latest` is the session's last narrative, if it may still be used: it rests on all that was before it.
 */
async function withoutForgotten(
  rows: Reading,
  {
    head,
    path,
    turns,
    latest,
  }: { head: Thread; path: PlacedTurn[]; turns: PlacedTurn[]; latest: Narrative | undefined },
): Promise<NarratableTurns> {
  const lastNarrated = path[path.findIndex(({ turn }) => turn.id === turns[0]?.turn.id) - 1]
  const fromDepth = latest && lastNarrated ? lastNarrated.thread.depth + 1 : 1
  const known = await memoriesInContext(rows, { head, fromDepth })
  const depths = [...new Set(known.flatMap(({ isForgotten, depth }) => (isForgotten && depth ? [depth] : [])))]
  const excluded: PlacedTurn[] = []
  for (const depth of depths.sort((a, b) => b - a).slice(0, maxExcluded)) {
    const turn = await turnOnPath(rows, head, depth)
    if (turn) excluded.push(turn)
  }
  const forgotten = excluded.map(({ thread, turn }) => ({
    depth: thread.depth,
    said: distinctiveWords(wholeTurnText(turn)),
  }))
  const mayRepeat = ({ thread, turn }: PlacedTurn) => {
    const own = [...distinctiveWords(wholeTurnText(turn))]
    return forgotten.some(
      ({ depth, said }) => depth < thread.depth && isRepetition(own.filter((word) => said.has(word))),
    )
  }
  const isOut = new Set(depths)
  return {
    since: turns.filter((each) => !isOut.has(each.thread.depth) && !mayRepeat(each)),
    memoryIds: [...new Set(known.filter(({ isForgotten }) => !isForgotten).map(({ memoryId }) => memoryId))],
  }
}

/** Whether a text that shares these words with another may say the same: one word alone is chance, unless it is a value. */
function isRepetition(shared: readonly string[]): boolean {
  return shared.length > 1 || shared.some((word) => /\d/.test(word))
}

function wholeTurnText({ queryMessages, responseMessage }: Turn): string {
  return [...queryMessages, responseMessage].map(({ content }) => content).join('\n')
}

/** Messages of turns, oldest first, cut at the beginning. */
function renderTurns(turns: PlacedTurn[], markSecrets: (text: string) => string): string {
  // Before messages are cut: a part of a value would not be known for one.
  const marked = ({ content, ...message }: Message): Message => ({ ...message, content: markSecrets(content) })
  const lines = turns.flatMap(({ turn }) => [
    ...turn.queryMessages.map((message) => questionLine(marked(message))),
    answerLine(marked(turn.responseMessage)),
  ])
  let room = maxText
  const kept = lines.toReversed().filter((line) => {
    room -= line.length
    return room >= 0
  })
  return kept.reverse().join('\n')
}

function questionLine({ content, source = 'human' }: Message): string {
  return `${source === 'human' ? 'person' : source}: ${quote(content)}`
}

function answerLine({ content }: Message): string {
  return `answer: ${quote(content)}`
}

/** The beginning of a text, indented so that none of its lines can pass for one of ours. */
function quote(text: string): string {
  const short = text.length > maxMessage ? `${text.slice(0, maxMessage).toWellFormed()}…` : text
  return short.split(/\r\n|[\n\r\u2028\u2029]/).join('\n  ')
}
